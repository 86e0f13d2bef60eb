// Open files by path, one cache per worker, hence no locks.
//
// A small file's content is held in memory, a larger file is mapped; that there is no such file is
// remembered too. An entry is compared with the file system at most once a second. Whoever serves a
// file holds a FileRef, so eviction never takes it away under a response.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fd.h"
#include "coro/event.h"
#include "h2server/file.h"
#include "h2server/result.h"
#include "h2server/task.h"
#include "io/engine.h"

namespace h2server::content {

struct FileCacheLimits {
  std::size_t bytes_max = 256 * 1024 * 1024;  // held and mapped together
  std::size_t entries_max = 4096;             // of files and of absent ones
  std::size_t mapped_max = 64;             // each keeps a descriptor, which connections need more
  std::size_t held_bytes_max = 64 * 1024;  // a file's: copying it costs less than mapping it
  std::int64_t fresh_ms = 1000;            // an entry is believed that long
};

// The version of what an open descriptor leads to; nullopt when fstat fails.
std::optional<FileVersion> version_of(int descriptor);

// Whether a write that comes from now on has a later time than the version's.
bool is_settled(const FileVersion& version);

// What a path leads to.
struct Lookup {
  enum class Kind : std::uint8_t {
    absent,     // no such file, or one that is no regular file
    forbidden,  // it may not be read
    directory,
    file,
    failed,  // the system is short of something: descriptors, memory
  };
  Kind kind = Kind::absent;
  FileRef file;
};

class FileCache {
 public:
  // `root` is an open directory that outlives the cache; no path leads out of it, by ".." or by
  // links (openat2, RESOLVE_BENEATH).
  explicit FileCache(int root, const FileCacheLimits& limits = {});
  FileCache(const FileCache&) = delete;
  FileCache& operator=(const FileCache&) = delete;
  ~FileCache();

  // What is known already, without a look at the file system; null: nothing, or nothing fresh.
  // `path` is relative to the root. `now_ms`: monotonic.
  const Lookup* known(std::string_view path, std::int64_t now_ms);
  // As the file system has it; who asks while it is read for somebody else waits for that. Without
  // an engine the caller waits for the disk.
  Task<Lookup> find(io::Engine* engine, std::string path, std::int64_t now_ms);

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t entries() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    std::string path;
    Lookup lookup;
    std::int64_t checked_ms = 0;
    // False: the file was written so shortly before it was read that a later write could bear the
    // same time. It is read again at the next check.
    bool settled = true;
  };
  using Entries = std::list<Entry>;  // the most recently used first

  // What the file system says. Its file is `kept` when that is still the version.
  struct Loaded {
    Lookup lookup;
    bool settled = true;  // of an entry
  };

  // Waits in find(), in whose frame it lives.
  struct Waiter {
    coro::Event found;
    Lookup lookup;
  };

  Task<Lookup> find_alone(io::Engine* engine, std::string path, std::int64_t now_ms);
  Task<Loaded> load(io::Engine* engine, std::string path, FileRef kept);
  Task<Loaded> load_once(io::Engine* engine, const std::string& path, FileRef kept);
  Lookup keep(Entry entry);
  void make_room(std::size_t bytes, bool mapped);
  static std::size_t cost(const Entry& entry) noexcept;
  void drop(Entries::iterator entry);

  const int root_;
  const FileCacheLimits limits_;
  Entries entries_;
  std::unordered_map<std::string_view, Entries::iterator> index_;  // keys live in the entries
  std::unordered_map<std::string, std::vector<Waiter*>> loading_;  // those that are being read
  std::size_t bytes_ = 0;
  std::size_t mapped_ = 0;  // entries with a mapped file
};

}  // namespace h2server::content
