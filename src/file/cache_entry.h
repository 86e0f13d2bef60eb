// Lookup and CacheEntry: what the file cache has of a path. Immutable but for the entry's atomics
// and what the cache alone uses, so any thread may read them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/keyed_hash.h"
#include "h2server/file.h"

namespace h2server::file {

class Folder;

// The result of looking up a path.
struct Lookup {
  enum class Kind : std::uint8_t {
    absent,     // no such file, or no regular file
    forbidden,  // it may not be read
    directory,
    file,
    unkept,  // an object of a store that is too large to be kept: only the store has it
    failed,  // the system has no descriptor, memory or thread left, or the disk failed
  };
  Kind kind = Kind::absent;
  FileRef file;
};

// Returns what a failure to open a path means; `error` is an errno value.
[[nodiscard]] Lookup::Kind kind_of_error(int error) noexcept;

// A lookup that workers share.
struct CacheEntry {
  // Returns true if the entry may still be used at `now_ms`. Never true if finding that out may
  // wait, see Content::may_wait(): such an entry is checked by a load.
  [[nodiscard]] bool is_fresh(std::int64_t now_ms) const noexcept;
  // The same for one who has just been given the entry, which need not be in the cache. Does not
  // wait: content whose check may wait was checked by the load.
  [[nodiscard]] bool is_current(std::int64_t now_ms) const noexcept;
  [[nodiscard]] bool is_recent(std::int64_t now_ms) const noexcept;
  // Writes once per look of the cache, not per hit.
  void note_use() const noexcept {
    if (!used.load(std::memory_order_relaxed)) used.store(true, std::memory_order_relaxed);
  }

  const Folder& folder;
  const std::string path;
  const Lookup lookup;
  // False if the file changed just before it was read, so that another change may have the same
  // time. It is then read again at the next check.
  const bool settled;
  mutable std::atomic<std::int64_t> checked_ms;
  mutable std::atomic<bool> dropped{false};  // by the cache; then an index must not use it
  mutable std::atomic<bool> used{false};     // again, since the cache last looked
  mutable std::uint64_t last_use = 0;        // the cache's, with its lock: the number of that use
};

[[nodiscard]] bool has_descriptor(const CacheEntry& entry) noexcept;
[[nodiscard]] bool has_snapshot(const CacheEntry& entry) noexcept;
// Returns true if both are of the same version. A file and a snapshot of it are, and two loads of a
// settled file. Those of an unsettled one need not be, nor those of an object that is held in
// memory, which has no inode.
[[nodiscard]] bool same_version(const CacheEntry& one, const CacheEntry& other) noexcept;
// Returns its bytes in the budget of what is held. Snapshots have a budget of their own.
[[nodiscard]] std::size_t cost_of(const CacheEntry& entry) noexcept;

// Names an entry. The path belongs to the entry.
struct CacheKey {
  const Folder* folder;
  std::string_view path;

  bool operator==(const CacheKey&) const = default;
};
struct CacheKeyHash {
  // Not noexcept, so that containers keep the hashes instead of computing them again.
  std::size_t operator()(const CacheKey& key) const {
    return base::keyed_hash(key.path) + std::hash<const void*>()(key.folder);
  }
};

}  // namespace h2server::file
