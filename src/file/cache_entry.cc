#include "file/cache_entry.h"

#include <cerrno>

#include "file/content.h"
#include "file/folder.h"

namespace h2server::file {

Lookup::Kind kind_of_error(int error) noexcept {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EINVAL:
    case ENXIO:  // a socket's or a device's name
    case ENODEV:
    case EOVERFLOW:
      return Lookup::Kind::absent;
    case EACCES:
    case EPERM:
      return Lookup::Kind::forbidden;
    default:  // EMFILE, ENFILE, ENOMEM, EIO, EAGAIN
      return Lookup::Kind::failed;
  }
}

bool CacheEntry::is_recent(std::int64_t now_ms) const noexcept {
  // Negative, if another thread's check was later than `now_ms`.
  const std::int64_t age_ms = now_ms - checked_ms.load(std::memory_order_relaxed);
  return age_ms < folder.fresh_ms() && folder.fresh_ms() > 0;
}

// A change of a mapped file changes its bytes at once, so the head must not describe the old ones.
bool CacheEntry::is_fresh(std::int64_t now_ms) const noexcept {
  if (dropped.load(std::memory_order_acquire) || !is_recent(now_ms)) return false;
  if (lookup.file == nullptr) return true;
  const Content& content = lookup.file->content();
  return !content.changes_with_file() || (content.mapped() && content.unchanged());
}

bool CacheEntry::is_current(std::int64_t now_ms) const noexcept {
  if (!is_recent(now_ms)) return false;
  return lookup.file == nullptr || !lookup.file->content().mapped() ||
         lookup.file->content().unchanged();
}

bool has_descriptor(const CacheEntry& entry) noexcept {
  return entry.lookup.file != nullptr && entry.lookup.file->content().has_descriptor();
}

bool has_snapshot(const CacheEntry& entry) noexcept {
  return entry.lookup.file != nullptr && entry.lookup.file->content().is_snapshot();
}

bool same_version(const CacheEntry& one, const CacheEntry& other) noexcept {
  const FileRef& file = one.lookup.file;
  const FileRef& second = other.lookup.file;
  if (file == second) return one.lookup.kind == other.lookup.kind;
  if (file == nullptr || second == nullptr) return false;
  const FileVersion& version = file->content().version();
  if (version != second->content().version()) return false;
  return has_snapshot(one) || has_snapshot(other) ||
         (one.settled && other.settled && version.inode != 0);
}

std::size_t cost_of(const CacheEntry& entry) noexcept {
  const File* const file = entry.lookup.file.get();
  const bool holds = file != nullptr && !file->content().has_descriptor();
  return entry.path.size() + (holds ? static_cast<std::size_t>(file->size()) : 0);
}

}  // namespace h2server::file
