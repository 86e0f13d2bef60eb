// DiskIndex: what is known in memory of the files of a DiskCache, in the order of their use, and
// the bytes that are claimed for files to be.
//
// Objects go by the digits of their name, the front of the names of their files. Any thread. Does
// not look at the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "content/cache/disk_object.h"

namespace h2server::content {

// Of the two files of a version of an object.
struct DiskNames {
  std::string digits;   // 32, of the name of the object
  std::string version;  // 16 digits

  [[nodiscard]] std::string bytes() const { return digits + '-' + version; }
  [[nodiscard]] std::string head() const { return bytes() + ".head"; }
  // Returns nullopt if `name` is not that of a file with bytes.
  static std::optional<DiskNames> parse(std::string_view name);

  bool operator==(const DiskNames&) const = default;
};

class DiskIndex {
 public:
  struct Entry {
    DiskNames names;
    std::uint64_t bytes = 0;
    std::int64_t used_s = 0;     // since 1970
    std::int64_t touched_s = 0;  // the same, as the directory has it
    // What is known once the file was opened.
    std::string name = {};
    std::shared_ptr<DiskChecks> checks = nullptr;
  };
  // What was removed from the index, and is to be removed from the disk.
  using Removed = std::vector<Entry>;
  using Found = std::map<std::string, Entry>;  // by the digits

  [[nodiscard]] bool has(const std::string& digits) const;
  [[nodiscard]] std::optional<Entry> find(const std::string& digits) const;
  // Notes a use. Returns true, to one of many, if the directory is to have that time, too.
  [[nodiscard]] bool note_use(const std::string& digits, std::int64_t now_s);
  // Notes what is known of a file that was opened, if it is still there.
  void note_opened(const DiskNames& names, const std::string& name,
                   std::shared_ptr<DiskChecks> checks);

  // Claims `bytes` for an object. Returns false if it is being written already, or `fills_max` are.
  [[nodiscard]] bool claim(const std::string& digits, std::uint64_t bytes, std::size_t fills_max);
  // So much of what is claimed has been written.
  void wrote(const std::string& digits, std::uint64_t bytes);
  void give_back(const std::string& digits);
  // Returns bytes that are claimed and not written yet.
  [[nodiscard]] std::uint64_t unwritten() const;
  // Takes what was used least recently, until what is left and what is claimed have at most
  // `bytes_max`, and at least `bytes_min` are taken. Returns nullopt if that can't be.
  std::optional<Removed> make_room(std::uint64_t bytes_max, std::uint64_t bytes_min);

  // Adds an entry as the one used last. Returns another version of the object.
  Removed add(Entry entry);
  Removed take(const std::string& digits);

  // Returns a mark for merge(): take it before the directory is read.
  [[nodiscard]] std::uint64_t added() const;
  // Makes the index what the directory has. What was added since the mark stays. Returns entries
  // whose files are gone.
  Removed merge(Found found, std::uint64_t mark);

  struct Size {
    std::uint64_t objects = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] Size size() const;

 private:
  struct Place {
    Entry entry;
    std::uint64_t since = 0;  // how many had been added
  };
  using Places = std::list<Place>;
  struct Claim {
    std::uint64_t bytes = 0;
    std::uint64_t written = 0;
  };

  // With the lock held.
  Entry take(Places::iterator place);

  mutable std::mutex mutex_;  // for all below
  Places places_;             // most recently used first
  std::unordered_map<std::string, Places::iterator> by_digits_;
  std::map<std::string, Claim> claims_;  // by the digits
  std::uint64_t bytes_ = 0;              // of the entries
  std::uint64_t claimed_ = 0;
  std::uint64_t added_ = 0;
};

}  // namespace h2server::content
