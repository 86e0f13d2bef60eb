// DiskCache: objects of stores as files of a directory, which outlive the process.
//
// A version of an object has two files that never change: one with its bytes, and its head. They
// get their names, the head first, when they are whole. So any number of processes may use one
// directory, and none can leave or see a half: each gives names to whole files and removes them,
// and those that are being sent stay readable, since they are open. Each looks at the whole
// directory now and then, and removes what was used least recently.
//
// Objects go by names that are made of their store and key, see DiskPlace.
//
// Any thread. What is not noted otherwise blocks on the disk.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "content/cache/disk_index.h"
#include "content/cache/disk_object.h"
#include "content/storage/upload_file.h"
#include "h2server/result.h"
#include "h2server/store.h"

namespace h2server::content {

struct DiskCacheLimits {
  std::uint64_t bytes_max = 10 * std::uint64_t{1024 * 1024 * 1024};  // of all objects
  std::uint64_t object_divisor = 8;  // an object has at most this part of them
  std::size_t fills_max = 32;        // at once: each has 256 KiB of memory and two descriptors
  // Free space to leave on the file system. Without a value, as uploads do.
  std::optional<std::uint64_t> reserve_bytes = {};
  std::int64_t scan_ms = 60'000;   // after that long, files of others are looked for
  std::int64_t scan_share = 100;   // and after so many times what the last look has taken
  std::int64_t pause_ms = 10'000;  // after a failure to write, nothing is written for that long
};

class DiskCache {
 public:
  // Makes the directory if it is missing. The error is an errno value.
  static Result<std::shared_ptr<DiskCache>, int> open(const std::string& path,
                                                      const DiskCacheLimits& limits = {});
  // For open().
  DiskCache(std::string path, base::Fd directory, const DiskCacheLimits& limits)
      : path_(std::move(path)), directory_(std::move(directory)), limits_(limits) {}
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;
  ~DiskCache() { remove_rests(); }

  // These do not block.

  // `dropped` is called, on any thread, for objects whose file has been removed, so that those who
  // keep it open let go of it, until `owner` gives another one, or null.
  using Dropped = std::function<void(const std::string& name)>;
  void on_drop(const void* owner, Dropped dropped);
  // Returns true if an object of this kind is kept, if there is room for it.
  [[nodiscard]] bool wants(const ObjectInfo& info) const noexcept;
  [[nodiscard]] bool has(const std::string& name) const { return index_.has(digits_of(name)); }
  // Returns true if touch() is to follow.
  [[nodiscard]] bool note_use(const std::string& name);

  // Notes the use for later processes.
  void touch(const std::string& name);

  struct Opened {
    std::unique_ptr<const file::Content> content;  // mapped
    std::unique_ptr<DiskObject> object;
  };
  // Opens the version that is kept, which need not be the store's any more.
  std::optional<Opened> open_object(const std::string& name);
  void remove(const std::string& name);
  // Of a file that has other bytes than its object, or can't be read.
  void remove_damaged(const std::string& name);

 private:
  friend class DiskFill;

  // Temporary files that are of no use any more.
  struct Rest {
    std::unique_ptr<TemporaryNames> names;
    std::vector<std::string> files;
  };

  [[nodiscard]] DiskNames names_of(const std::string& name, const ObjectInfo& info) const;
  [[nodiscard]] std::string digits_of(const std::string& name) const;

  // Makes the index what the directory has.
  void scan();
  void scan_if_due();
  Result<DiskIndex::Found, int> read_directory() const;
  std::optional<DiskIndex::Entry> entry_of(const DiskNames& names) const;

  // Returns true if bytes of this object may be written; then release() must follow.
  [[nodiscard]] bool claim(const DiskNames& names, std::uint64_t bytes);
  void release(const DiskNames& names) { index_.give_back(names.digits); }
  [[nodiscard]] bool make_room();
  // Adds files that have their names.
  void add(DiskIndex::Entry entry);
  // Does not block: the next call that does removes them.
  void leave(Rest rest);
  void remove_rests();

  // The error is an errno value; 0: the file is damaged.
  Result<Opened, int> open_files(const DiskIndex::Entry& entry, const std::string& name);
  // Removes the files, and calls on_drop().
  void drop(const DiskIndex::Removed& removed);
  void unlink(const DiskNames& names) const;
  // `error`: an errno value; 0: a file is damaged.
  void report_failure(std::string_view what, int error);
  void report_write_failure(int error);
  void count() const;

  const std::string path_;
  const base::Fd directory_;
  const DiskCacheLimits limits_;
  DiskIndex index_;
  std::atomic<std::int64_t> failed_ms_{-1};  // when a write failed; negative: never
  std::atomic<std::int64_t> logged_ms_{-1};  // when a failure was logged
  std::mutex scanning_;                      // held meanwhile
  std::atomic<std::int64_t> next_scan_ms_{0};
  std::mutex dropping_;  // for on_drop_
  std::map<const void*, Dropped> on_drop_;
  std::mutex resting_;  // for rests_
  std::vector<Rest> rests_;
};

// Where the objects of a store are kept.
struct DiskPlace {
  std::shared_ptr<DiskCache> cache = nullptr;  // null: nowhere
  std::string store = {};                      // tells it from other stores

  [[nodiscard]] std::string name_of(std::string_view key) const {
    return (store + '\n').append(key);
  }
};

}  // namespace h2server::content
