#include "file/folder.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "file/cache_index.h"
#include "file/calls.h"
#include "file/open_beneath.h"
#include "h2server/task_group.h"

namespace h2server::file {

namespace {

// Returns the index of this thread's engine, or null if there is none.
CacheIndex* own_index(const Cache& cache) {
  const io::Engine* const engine = io::Engine::current();
  return engine != nullptr ? CacheIndex::of(*engine, cache) : nullptr;
}

// For hits: the time of this thread's engine, which reads the clock once per turn of its loop. A
// load needs the time at which it begins, since others compare it with their own.
std::int64_t turn_ms() {
  const io::Engine* const engine = io::Engine::current();
  return engine != nullptr ? engine->now_ms() : base::monotonic_ms();
}

// May wait for a slow file system.
Result<Folder::Opened, int> with_version(base::Fd descriptor) {
  const std::optional<FileVersion> version = version_of(descriptor.get());
  if (!version) return std::unexpected(errno);
  return Folder::Opened{.descriptor = std::move(descriptor), .version = *version};
}

Task<void> store(Task<Cache::Entry> task, Cache::Entry& found) { found = co_await task; }

}  // namespace

Result<std::shared_ptr<const Folder>, int> Folder::open(const std::string& path,
                                                        const FolderOptions& options) {
  base::Fd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return std::unexpected(errno);
  return std::make_shared<const Folder>(path, std::move(directory), options);
}

Folder::Folder(std::string path, base::Fd directory, const FolderOptions& options, Cache& cache)
    : path_(std::move(path)),
      directory_(std::move(directory)),
      options_(options),
      cache_(cache),
      may_wait_(options_.is_slow(directory_.get())),
      device_(version_of(directory_.get()).value_or(FileVersion()).device) {
  ASSERT(options.make_file != nullptr);
}

Folder::Folder(std::int64_t fresh_ms, Cache& cache)
    : options_({.fresh_ms = fresh_ms}), cache_(cache) {}

Folder::~Folder() { cache_.forget(*this); }

void Folder::report_unmapped(std::string_view path, int error) const {
  if (unmapped_reported_.exchange(true, std::memory_order_relaxed)) return;
  base::log_warning("{}/{} can't be mapped into memory ({}), so it is read piece by piece, which "
                    "is slower; other "
                    "files of this folder that can't be mapped are not reported",
                    path_, path, std::strerror(error));
}

std::optional<Lookup> Folder::known(std::string_view path) const {
  if (const CacheIndex* const index = own_index(cache_)) {
    const Lookup* const found = index->known(*this, path, turn_ms());
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  const Cache::Entry entry = cache_.known(*this, path, turn_ms());
  return entry == nullptr ? std::nullopt : std::optional(entry->lookup);
}

std::optional<Folder::Kept> Folder::kept(std::string_view path) const {
  const Cache::Entry entry = cache_.kept(*this, path);
  if (entry == nullptr) return std::nullopt;
  if (CacheIndex* const index = own_index(cache_)) index->keep(entry);
  const std::int64_t checked_ms = entry->checked_ms.load(std::memory_order_relaxed);
  return Kept{entry->lookup, base::monotonic_ms() - checked_ms};
}

Lookup Folder::keep(std::string path, Lookup lookup, std::int64_t checked_ms) const {
  ASSERT(!directory_.valid());
  constexpr bool settled = true;
  constexpr bool dropped = false;
  const Cache::Entry entry = cache_.keep(std::make_shared<const CacheEntry>(
      *this, std::move(path), std::move(lookup), settled, checked_ms, dropped));
  if (CacheIndex* const index = own_index(cache_)) index->keep(entry);
  return entry->lookup;
}

Task<FileRef> Folder::refresh(std::string path, FileRef file, std::int64_t now_ms) const {
  ASSERT(!directory_.valid());
  return cache_.refresh(io::Engine::current(), *this, std::move(path), std::move(file), now_ms);
}

void Folder::forget(std::string_view path) const {
  ASSERT(!directory_.valid());
  cache_.forget(*this, path);
}

Task<Lookup> Folder::find(std::string path) const {
  ASSERT(directory_.valid());
  const Cache::Entry entry =
      co_await cache_.find(io::Engine::current(), *this, std::move(path), base::monotonic_ms());
  CacheIndex* const index = own_index(cache_);
  co_return index != nullptr ? index->keep(entry) : entry->lookup;
}

Task<Result<Folder::Opened, int>> Folder::open_beneath(std::string path, int flags) const {
  ASSERT(directory_.valid());
  io::Engine* const engine = io::Engine::current();
  if (!may_wait_) {
    Result<base::Fd, int> opened = co_await file::open_beneath(engine, fd(), path, flags);
    if (opened) co_return with_version(*std::move(opened));
    if (opened.error() != EXDEV) co_return std::unexpected(opened.error());
  }
  const auto work = [&]() -> Result<Opened, int> {
    Result<base::Fd, int> opened = open_beneath_now(fd(), path, flags);
    if (!opened) return std::unexpected(opened.error());
    Result<Opened, int> found = with_version(*std::move(opened));
    if (found) found->slow = finds_slow(found->descriptor.get());
    return found;
  };
  const WaitingOptions options = on_slow_file_system(device_);
  std::optional<Result<Opened, int>> found = co_await run_waiting(engine, work, options);
  if (!found) co_return std::unexpected(ECANCELED);
  co_return *std::move(found);
}

Lookup Folder::find_now(std::string_view path) const {
  ASSERT(directory_.valid());
  const std::int64_t now_ms = base::monotonic_ms();  // the caller may have blocked the engine
  CacheIndex* const index = own_index(cache_);
  if (index != nullptr) {
    if (const Lookup* const found = index->known(*this, path, now_ms)) return *found;
  }
  Cache::Entry entry;
  TaskGroup task;
  task.start(store(cache_.find(nullptr, *this, std::string(path), now_ms), entry));
  ASSERT(task.running() == 0);  // without an engine nothing suspends
  return index != nullptr ? index->keep(entry) : entry->lookup;
}

}  // namespace h2server::file
