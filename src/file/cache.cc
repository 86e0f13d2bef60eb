#include "file/cache.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "base/clock.h"
#include "file/cache_index.h"
#include "file/calls.h"
#include "file/content.h"
#include "file/folder.h"
#include "file/open_beneath.h"

namespace h2server::file {

namespace {

// Returns null if the file changed while it was read, or can't be read.
Task<std::unique_ptr<const Content>> hold(io::Engine* engine, const Version& version,
                                          int descriptor) {
  const auto size = static_cast<std::size_t>(version.size);
  auto bytes = std::make_unique_for_overwrite<char[]>(size);
  for (std::size_t done = 0; done < size;) {
    const std::span<char> room(bytes.get() + done, size - done);
    const int count = co_await make_call(engine, io::FileCall::read(descriptor, room, done));
    if (count == -EINTR) continue;
    if (count <= 0) co_return nullptr;
    done += static_cast<std::size_t>(count);
  }
  if (version_of(descriptor) != version) co_return nullptr;
  co_return std::make_unique<const Content>(version, std::move(bytes));
}

Lookup::Kind kind_of_error(int error) {
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

// The thread gives it up to open a file when connections have taken all descriptors.
thread_local base::Fd spare;

void take_spare() {
  if (!spare.valid()) spare = base::Fd(::open("/dev/null", O_PATH | O_CLOEXEC));
}

bool is_mapped(const CacheEntry& entry) {
  return entry.lookup.file != nullptr && entry.lookup.file->content().mapped();
}

std::size_t cost(const CacheEntry& entry) {
  const File* const file = entry.lookup.file.get();
  const bool holds = file != nullptr && !file->content().mapped();
  return entry.path.size() + (holds ? static_cast<std::size_t>(file->size()) : 0);
}

std::size_t default_mapped_max() {
  constexpr rlim_t most = 1024;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);  // fails only for invalid arguments
  return static_cast<std::size_t>(std::clamp<rlim_t>(limit.rlim_cur / 8, 1, most));
}

}  // namespace

bool CacheEntry::is_fresh(std::int64_t now_ms) const noexcept {
  if (dropped.load(std::memory_order_acquire)) return false;
  if (now_ms - checked_ms.load(std::memory_order_relaxed) >= folder.fresh_ms()) return false;
  // A mapping shows a change at once, so it must be noticed at once: the head is still to be sent.
  return lookup.file == nullptr || lookup.file->content().unchanged();
}

Cache::Cache(const CacheLimits& limits) : limits_(limits) {
  if (limits_.mapped_max == 0) limits_.mapped_max = default_mapped_max();
}

Cache::~Cache() {
  for (CacheIndex* const index : indexes_) index->detach();
}

Cache& Cache::of_process() {
  // Never destroyed: threads that a server left behind may still use it.
  static Cache& cache = *std::make_unique<Cache>().release();
  return cache;
}

std::size_t Cache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::size_t Cache::entries() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

// --- looking up -------------------------------------------------------------------------------

Cache::Entry Cache::known(const Folder& folder, std::string_view path, std::int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  return fresh_entry({&folder, path}, now_ms);
}

Cache::Entry Cache::fresh_entry(const CacheKey& key, std::int64_t now_ms) {
  const auto found = places_.find(key);
  if (found == places_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  const Entry& entry = *found->second;
  return entry->is_fresh(now_ms) ? entry : nullptr;
}

Task<Cache::Entry> Cache::find(io::Engine* engine, const Folder& folder, std::string path,
                               std::int64_t now_ms) {
  const CacheKey key{&folder, path};
  // Without a loop nobody can be waited for: the load may be this thread's own.
  CacheIndex* const index =
      engine != nullptr && engine->has_loop() ? &CacheIndex::of(*engine, *this) : nullptr;
  Waiter waiter;
  {
    const std::lock_guard lock(mutex_);
    if (Entry fresh = fresh_entry(key, now_ms)) co_return fresh;
    if (index != nullptr) {
      const auto [loading, first] = loading_.try_emplace(key);
      if (!first) {
        waiter.home = index;
        loading->second.push_back(&waiter);
      }
    }
  }
  if (waiter.home != nullptr) {
    co_await waiter.found.wait();
    // A mapped file may have been opened before a change that preceded this lookup.
    const FileRef& file = waiter.entry->lookup.file;
    if (file == nullptr || file->content().unchanged()) co_return std::move(waiter.entry);
    Entry entry = co_await load_entry(engine, folder, std::move(path), now_ms);
    co_return entry;
  }
  Entry entry = co_await load_entry(engine, folder, path, now_ms);
  if (index != nullptr) answer_waiters(key, entry, *index);
  co_return entry;
}

// Each waiter is resumed on its own thread.
void Cache::answer_waiters(const CacheKey& key, const Entry& entry, CacheIndex& index) {
  std::vector<Waiter*> waiters;
  {
    const std::lock_guard lock(mutex_);
    const auto loading = loading_.find(key);
    waiters = std::move(loading->second);
    loading_.erase(loading);
  }
  for (Waiter* const waiter : waiters) {
    waiter->entry = entry;
    if (waiter->home != &index) waiter->home->deliver(*waiter);
  }
  std::erase_if(waiters, [&](const Waiter* waiter) { return waiter->home != &index; });
  for (Waiter* const waiter : waiters) waiter->found.set();
}

void Cache::forget(const Folder& folder) {
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (&(*entry)->folder == &folder) drop(entry);
    entry = next;
  }
  wake_indexes();
}

// --- loading ----------------------------------------------------------------------------------

Task<Cache::Entry> Cache::load_entry(io::Engine* engine, const Folder& folder, std::string path,
                                     std::int64_t now_ms) {
  FileRef kept;
  {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find({&folder, path});
    if (found != places_.end() && (*found->second)->settled) {
      kept = (*found->second)->lookup.file;
    }
  }
  Loaded loaded = co_await load(engine, folder, path, std::move(kept));
  const bool failed = loaded.lookup.kind == Lookup::Kind::failed;
  auto entry = std::make_shared<const CacheEntry>(folder, std::move(path), std::move(loaded.lookup),
                                                  loaded.settled, now_ms, failed);
  const std::lock_guard lock(mutex_);
  Entry kept_entry = update(std::move(entry));
  wake_indexes();
  co_return kept_entry;
}

Task<Cache::Loaded> Cache::load(io::Engine* engine, const Folder& folder, std::string path,
                                FileRef kept) {
  constexpr int attempts_max = 3;  // a file may change while it is read
  Loaded loaded;
  take_spare();
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    loaded = co_await load_once(engine, folder, path, kept);
    take_spare();
    if (loaded.lookup.kind != Lookup::Kind::failed) break;
  }
  co_return loaded;
}

Task<Cache::Loaded> Cache::load_once(io::Engine* engine, const Folder& folder,
                                     const std::string& path, FileRef kept) {
  Loaded loaded;
  loaded.lookup.kind = Lookup::Kind::failed;
  Result<base::Fd, int> opened = co_await open_beneath(engine, folder.fd(), path, O_RDONLY);
  const bool lacks_descriptors = !opened && (opened.error() == EMFILE || opened.error() == ENFILE);
  if (lacks_descriptors) {
    spare.close();
    opened = co_await open_beneath(engine, folder.fd(), path, O_RDONLY);
  }
  if (!opened) {
    loaded.lookup.kind = kind_of_error(opened.error());
    co_return loaded;
  }
  // The attributes of an open file are in memory, so fstat does not wait for the disk.
  struct stat status{};
  if (::fstat(opened->get(), &status) != 0) co_return loaded;
  if (!S_ISREG(status.st_mode)) {
    loaded.lookup.kind = S_ISDIR(status.st_mode) ? Lookup::Kind::directory : Lookup::Kind::absent;
    co_return loaded;
  }
  const std::optional<Version> version = version_of(opened->get());
  if (!version) co_return loaded;
  if (kept != nullptr && kept->content().version() == *version) {
    loaded.lookup = {Lookup::Kind::file, std::move(kept)};
    co_return loaded;
  }
  loaded.settled = is_settled(*version);
  std::unique_ptr<const Content> content;
  if (version->size <= limits_.held_bytes_max) {
    content = co_await hold(engine, *version, opened->get());
  } else {
    content = Content::map(*version, *std::move(opened));
  }
  if (content == nullptr) co_return loaded;
  loaded.lookup = {Lookup::Kind::file,
                   folder.make_file(std::move(content), path, base::unix_seconds())};
  co_return loaded;
}

// --- keeping ----------------------------------------------------------------------------------

// Returns the entry to use: the one there is, if the file system has not changed, or `entry`. A
// failure is not kept, because a retry may succeed, and neither is what exceeds the whole budget.
Cache::Entry Cache::update(Entry entry) {
  const auto found = places_.find({&entry->folder, entry->path});
  if (found != places_.end()) {
    const Entry& present = *found->second;
    if (present->lookup.kind == entry->lookup.kind && present->lookup.file == entry->lookup.file) {
      present->checked_ms.store(entry->checked_ms.load(), std::memory_order_relaxed);
      return present;
    }
    drop(found->second);
  }
  const std::size_t bytes = cost(*entry);
  if (entry->dropped.load() || bytes > limits_.bytes_max) {
    entry->dropped.store(true);
    return entry;
  }
  make_room(bytes, is_mapped(*entry));
  entries_.push_front(entry);
  places_.emplace(CacheKey{&entry->folder, entry->path}, entries_.begin());
  bytes_ += bytes;
  mapped_ += is_mapped(*entry) ? 1 : 0;
  return entry;
}

// Evicts the least recently used entries. Once it evicts, it makes room for a sixteenth of what may
// be kept, since every eviction makes the workers look through their indexes.
void Cache::make_room(std::size_t bytes, bool mapped) {
  const bool full = entries_.size() >= limits_.entries_max || bytes_ + bytes > limits_.bytes_max;
  const std::size_t entries_target = limits_.entries_max - limits_.entries_max / 16;
  const std::size_t bytes_target = limits_.bytes_max - limits_.bytes_max / 16;
  while (full && !entries_.empty() &&
         (entries_.size() >= entries_target || bytes_ + bytes > bytes_target)) {
    drop(std::prev(entries_.end()));
  }
  if (!mapped || mapped_ < limits_.mapped_max) return;
  const std::size_t mapped_target = limits_.mapped_max - limits_.mapped_max / 16;
  for (auto entry = entries_.end(); entry != entries_.begin() && mapped_ >= mapped_target;) {
    const auto previous = std::prev(entry);
    if (is_mapped(**previous)) {
      drop(previous);
    } else {
      entry = previous;
    }
  }
}

void Cache::drop(Entries::iterator entry) {
  const CacheEntry& dropped = **entry;
  mapped_ -= is_mapped(dropped) ? 1 : 0;
  bytes_ -= cost(dropped);
  dropped.dropped.store(true, std::memory_order_release);
  indexed_dropped_ = indexed_dropped_ || entry->use_count() > 1;
  places_.erase({&dropped.folder, dropped.path});
  entries_.erase(entry);
}

// An idle worker would otherwise keep the memory of dropped entries.
void Cache::wake_indexes() {
  if (!std::exchange(indexed_dropped_, false)) return;
  for (CacheIndex* const index : indexes_) index->ask_to_sweep();
}

}  // namespace h2server::file
