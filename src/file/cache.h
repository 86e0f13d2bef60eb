// Cache: files by folder and path, for the whole process. Thread-safe.
//
// A folder may have no directory. Its lookups are made elsewhere, as those of a store's objects,
// and kept here.
//
// Small files are held in memory, larger ones are mapped; missing files are remembered too. An
// entry is compared with the file system when a lookup finds it older than its folder allows. If a
// mapped file has been asked for again by then, a snapshot takes its place. A FileRef keeps its
// file alive after eviction. A forked process has a copy of its own.
//
// Workers with an event loop have a CacheIndex in front of it, so a hit takes no lock, and a file
// that several of them ask for at once is loaded once. Other threads take the lock and load alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/keyed_hash.h"
#include "coro/event.h"
#include "file/cache_entry.h"
#include "h2server/file.h"
#include "h2server/task.h"
#include "io/engine.h"

namespace h2server::file {

class CacheIndex;
class Folder;

struct CacheLimits {
  std::size_t bytes_max = 256 * 1024 * 1024;  // content held in memory, and paths
  std::size_t entries_max = 16 * 1024;        // files and missing ones
  // Mapped files and snapshots. Each keeps a descriptor, which connections need more. 0: an eighth
  // of the process's descriptors, at most 1024.
  std::size_t mapped_max = 0;
  std::size_t held_bytes_max = 64 * 1024;  // per file; copying that much costs less than mapping it
  std::uint64_t snapshot_bytes_max = 16 * 1024 * 1024;    // per file
  std::uint64_t snapshots_bytes_max = 128 * 1024 * 1024;  // of the process
  // Since the file's last change: more than a step of any file system's clock.
  std::int64_t snapshot_age_s_min = 3;
  // For another worker's load of the file. One that takes longer, as on a worker whose handler
  // blocks, is not waited for.
  std::uint32_t wait_ms_max = 100;
};

class Cache {
 public:
  using Entry = std::shared_ptr<const CacheEntry>;

  // Waits in find(), in whose frame it lives, for a load of another coroutine.
  struct Waiter {
    explicit Waiter(CacheIndex& own) noexcept : home(own) {}

    CacheIndex& home;  // of the waiting worker
    Entry entry;       // once answered
    // The rest belongs to the worker's thread.
    io::SleepOp* limit = nullptr;  // while it waits at most that long
    coro::Event answered;
  };

  explicit Cache(const CacheLimits& limits = {});
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  ~Cache();

  // The cache that all servers of the process share.
  static Cache& of_process();

  // Returns the fresh entry for `path`, which is relative to the folder, or null. Does not look at
  // the file system. `now_ms` is monotonic.
  Entry known(const Folder& folder, std::string_view path, std::int64_t now_ms);
  // Loads or checks the file unless its entry is fresh. Workers with an index do that once for all.
  // If `engine` is null, blocks on the disk.
  Task<Entry> find(io::Engine* engine, const Folder& folder, std::string path, std::int64_t now_ms);
  // Returns the entry for `path`, fresh or not, or null.
  Entry kept(const Folder& folder, std::string_view path);
  // For folders without a directory, whose lookups others make. Returns the entry to use: that of
  // the same file or of a later check, if there is one.
  Entry keep(Entry entry);
  // Makes this thread keep a descriptor with which it can open a file when there is no other left.
  static void take_spare_descriptor();
  void forget(const Folder& folder, std::string_view path);
  // Returns what to keep of a mapped file that was found unchanged: a snapshot, if the file has
  // been asked for again since the check before and one may be taken; otherwise the file.
  Task<FileRef> refresh(io::Engine* engine, const Folder& folder, std::string path, FileRef file,
                        std::int64_t now_ms);
  // Drops all entries of a folder that is about to be destroyed.
  void forget(const Folder& folder);

  // Lowers `snapshots_bytes_max` to this.
  void limit_snapshots(std::uint64_t bytes_max);
  // The same for content that is held in memory, and paths.
  void limit_held(std::uint64_t bytes_max);

  [[nodiscard]] std::size_t mapped_max() const noexcept { return limits_.mapped_max; }
  struct Stats {
    std::size_t entries = 0;
    std::size_t bytes = 0;
    std::size_t bytes_max = 0;
    std::uint64_t snapshot_bytes = 0;
    std::uint64_t snapshot_bytes_max = 0;
    std::uint64_t hits = 0;   // of the indexes
    std::uint64_t loads = 0;  // looks at the file system, and what keep() was given
  };
  [[nodiscard]] Stats stats() const;
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::size_t entries() const;

 private:
  friend class CacheIndex;
  static void lock_for_fork() noexcept;
  static void unlock_after_fork() noexcept;
  static void reset_in_child() noexcept;
  // Most recently used first. A hit of an index does not count as a use, but each check does.
  using Entries = std::list<Entry>;

  // What the cache has of a path that is to be loaded.
  struct Kept {
    FileRef file;
    std::uint64_t snapshots_bytes_max = 0;  // of all, if a snapshot is to be taken
  };
  // What the file system has. `lookup.file` is the kept file if that is still the current version.
  struct Loaded {
    Lookup lookup;
    bool settled = true;
    bool crosses_mounts = false;  // only a thread may follow the path; there is no lookup
  };

  Task<Entry> load_entry(io::Engine* engine, const Folder& folder, std::string path,
                         std::int64_t now_ms);
  Task<Loaded> load(io::Engine* engine, const Folder& folder, std::string path, Kept kept);
  Loaded load_now(const Folder& folder, const std::string& path, const Kept& kept);
  static Task<void> store_loaded(Task<Loaded> task, Loaded& loaded);
  Task<Loaded> load_here(io::Engine* engine, const Folder& folder, const std::string& path,
                         const Kept& kept);
  Task<Loaded> load_once(io::Engine* engine, const Folder& folder, const std::string& path,
                         const Kept& kept);
  Task<FileRef> take_snapshot(io::Engine* engine, Kept kept, int descriptor);
  // Waits until the waiter has its entry, or withdraws it if that takes too long.
  Task<void> wait_for_load(CacheKey key, Waiter& waiter);
  void answer_waiters(const CacheKey& key, const Entry& entry, CacheIndex& index);

  // With the lock held.
  Entry find_entry(const CacheKey& key);
  Kept kept_for(const CacheKey& key, std::int64_t now_ms);
  [[nodiscard]] bool may_copy(std::uint64_t bytes, std::int64_t now_ms);
  [[nodiscard]] bool make_room_for_snapshot(std::uint64_t bytes, std::int64_t now_ms);
  Entry update(Entry entry);
  void make_room(std::size_t bytes, bool has_descriptor);
  [[nodiscard]] std::size_t count() const noexcept { return plain_.size() + mapped_.size(); }
  Entries& list_of(const CacheEntry& entry) noexcept;
  void move_to_front(Entries::iterator entry) noexcept;
  [[nodiscard]] Entries::iterator least_recently_used() noexcept;
  // Returns the entry to evict next, of all or of those with a descriptor. There is one.
  Entries::iterator victim(bool has_descriptor);
  void drop(Entries::iterator entry);
  // Tells the indexes which entries were dropped. The caller destroys them without the lock.
  [[nodiscard]] std::vector<Entry> take_dropped();

  CacheLimits limits_;
  mutable std::mutex mutex_;  // for limits_.snapshots_bytes_max and all below
  Entries plain_;             // what is wholly in memory, and what is not there
  Entries mapped_;            // with an open file: mapped, a snapshot, or on a slow file system
  std::uint64_t uses_ = 0;
  std::unordered_map<CacheKey, Entries::iterator, CacheKeyHash> places_;
  // Files that are being loaded; the keys' paths belong to the loading coroutines.
  std::unordered_map<CacheKey, std::vector<Waiter*>, CacheKeyHash> loading_;
  std::size_t bytes_ = 0;
  std::vector<const CacheEntry*> snapshots_;  // entries with one
  std::int64_t copying_since_ms_ = 0;         // the present second of copies
  std::uint64_t copied_bytes_ = 0;            // in it
  std::vector<CacheIndex*> indexes_;
  std::uint64_t hits_ = 0;  // of indexes that are no more
  std::uint64_t loads_ = 0;
  std::vector<Entry> dropped_;  // since take_dropped()
};

}  // namespace h2server::file
