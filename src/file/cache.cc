#include "file/cache.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "base/assert.h"
#include "base/clock.h"
#include "file/cache_index.h"
#include "file/calls.h"
#include "file/content.h"
#include "file/folder.h"
#include "file/open_beneath.h"
#include "h2server/task_group.h"

namespace h2server::file {

namespace {

using FileBytes = std::unique_ptr<char[]>;

// Returns null if that would wait for the disk, or fails.
FileBytes read_at_once(int descriptor, std::size_t size) {
  FileBytes bytes = std::make_unique_for_overwrite<char[]>(size);
  for (std::size_t done = 0; done < size;) {
    const std::span<char> room(bytes.get() + done, size - done);
    const int count = io::FileCall::read(descriptor, room, done).make(false);
    if (count == -EINTR) continue;
    if (count <= 0) return nullptr;
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

// Returns null if the file is shorter or can't be read.
FileBytes read_on_disk(int descriptor, std::size_t size) {
  FileBytes bytes = std::make_unique_for_overwrite<char[]>(size);
  return read_whole(descriptor, {bytes.get(), size}, 0) ? std::move(bytes) : nullptr;
}

// Returns null if the file changed while it was read, or can't be read. A read that waits for a
// thread holds no memory: clients may let many wait.
Task<std::unique_ptr<const Content>> hold(io::Engine* engine, const FileVersion& version,
                                          int descriptor) {
  const auto size = static_cast<std::size_t>(version.size);
  FileBytes bytes = read_at_once(descriptor, size);
  if (bytes == nullptr) {
    const auto work = [&] { return read_on_disk(descriptor, size); };
    const WaitingOptions options{.reads = true};
    std::optional<FileBytes> read = co_await run_waiting(engine, work, options);
    if (read) bytes = *std::move(read);
  }
  if (bytes == nullptr || version_of(descriptor) != version) co_return nullptr;
  co_return std::make_unique<const Content>(version, std::move(bytes));
}

// The thread gives it up to open a file when connections have taken all descriptors.
thread_local base::Fd spare;

void take_spare() {
  if (!spare.valid()) spare = base::Fd(::open("/dev/null", O_PATH | O_CLOEXEC));
}

std::size_t default_mapped_max() {
  constexpr rlim_t most = 1024;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);  // fails only for invalid arguments
  return static_cast<std::size_t>(std::clamp<rlim_t>(limit.rlim_cur / 8, 1, most));
}

}  // namespace

void Cache::take_spare_descriptor() { take_spare(); }

void Cache::limit_held(std::uint64_t bytes_max) {
  const std::lock_guard lock(mutex_);
  limits_.bytes_max = std::min<std::uint64_t>(limits_.bytes_max, bytes_max);
}

void Cache::limit_snapshots(std::uint64_t bytes_max) {
  const std::lock_guard lock(mutex_);
  limits_.snapshots_bytes_max = std::min(limits_.snapshots_bytes_max, bytes_max);
}

Cache::Cache(const CacheLimits& limits) : limits_(limits) {
  if (limits_.mapped_max == 0) limits_.mapped_max = default_mapped_max();
}

Cache::~Cache() {
  for (CacheIndex* const index : indexes_) index->detach();
}

Cache& Cache::of_process() {
  // Never destroyed: threads that a server left behind may still use it.
  static Cache& cache = []() -> Cache& {
    ::pthread_atfork(lock_for_fork, unlock_after_fork, reset_in_child);
    return *std::make_unique<Cache>().release();
  }();
  return cache;
}

// A child process must not inherit the lock from a thread that it does not have.
void Cache::lock_for_fork() noexcept { of_process().mutex_.lock(); }
void Cache::unlock_after_fork() noexcept { of_process().mutex_.unlock(); }

// The child has no workers and no loads in flight.
void Cache::reset_in_child() noexcept {
  of_process().indexes_.clear();
  of_process().loading_.clear();
  of_process().mutex_.unlock();
}

Cache::Stats Cache::stats() const {
  const std::lock_guard lock(mutex_);
  Stats stats{.entries = count(),
              .bytes = bytes_,
              .bytes_max = limits_.bytes_max,
              .snapshot_bytes = Content::snapshot_bytes(),
              .snapshot_bytes_max = limits_.snapshots_bytes_max,
              .hits = hits_,
              .loads = loads_};
  for (const CacheIndex* const index : indexes_) stats.hits += index->hits();
  return stats;
}

std::size_t Cache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::size_t Cache::entries() const {
  const std::lock_guard lock(mutex_);
  return count();
}

// --- looking up -------------------------------------------------------------------------------

Cache::Entry Cache::known(const Folder& folder, std::string_view path, std::int64_t now_ms) {
  Entry entry;
  {
    const std::lock_guard lock(mutex_);
    entry = find_entry({&folder, path});
  }
  if (entry == nullptr || !entry->is_fresh(now_ms)) return nullptr;
  if (has_descriptor(*entry)) entry->note_use();  // of others, only the order matters
  return entry;
}

Cache::Entry Cache::kept(const Folder& folder, std::string_view path) {
  const std::lock_guard lock(mutex_);
  return find_entry({&folder, path});
}

Cache::Entry Cache::keep(Entry entry) {
  std::vector<Entry> dropped;
  const std::lock_guard lock(mutex_);
  ++loads_;
  Entry current = update(entry);  // if it is another, this one is destroyed without the lock
  dropped = take_dropped();
  return current;
}

Cache::Entry Cache::find_entry(const CacheKey& key) {
  const auto found = places_.find(key);
  if (found == places_.end()) return nullptr;
  move_to_front(found->second);
  return *found->second;
}

Task<Cache::Entry> Cache::find(io::Engine* engine, const Folder& folder, std::string path,
                               std::int64_t now_ms) {
  CacheIndex* const index = engine != nullptr ? CacheIndex::of(*engine, *this) : nullptr;
  if (index == nullptr) {
    if (Entry fresh = known(folder, path, now_ms)) co_return fresh;
    Entry entry = co_await load_entry(engine, folder, std::move(path), now_ms);
    co_return entry;
  }
  const CacheKey key{&folder, path};
  Waiter waiter(*index);
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    const Entry entry = find_entry(key);
    if (entry != nullptr && entry->is_fresh(now_ms)) co_return entry;
    const auto [loading, inserted] = loading_.try_emplace(key);
    first = inserted;
    if (!first) loading->second.push_back(&waiter);
  }
  if (!first) {
    co_await wait_for_load(key, waiter);
    // A load that began before this lookup may have missed a change that preceded it.
    const Entry& entry = waiter.entry;
    const bool failed = entry != nullptr && entry->lookup.kind == Lookup::Kind::failed;
    const bool served = failed || (entry != nullptr && entry->is_current(now_ms));
    if (served) co_return std::move(waiter.entry);
  }
  Entry entry = co_await load_entry(engine, folder, path, now_ms);
  if (first) answer_waiters(key, entry, *index);
  co_return entry;
}

Task<void> Cache::wait_for_load(CacheKey key, Waiter& waiter) {
  io::SleepOp limit(waiter.home.engine(), limits_.wait_ms_max);
  waiter.limit = &limit;
  co_await limit;  // cancelled by the answer
  waiter.limit = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto loading = loading_.find(key);
    if (loading != loading_.end() && std::erase(loading->second, &waiter) > 0) co_return;
  }
  co_await waiter.answered.wait();  // the answer is there, or on its way
}

// Each waiter is resumed on its own thread. Once delivered to another one, it may be gone.
void Cache::answer_waiters(const CacheKey& key, const Entry& entry, CacheIndex& index) {
  std::vector<Waiter*> waiters;
  {
    const std::lock_guard lock(mutex_);
    const auto loading = loading_.find(key);
    waiters = std::move(loading->second);
    loading_.erase(loading);
  }
  for (Waiter* const waiter : waiters) waiter->entry = entry;
  const auto others = std::ranges::partition(
      waiters, [&](const Waiter* waiter) { return &waiter->home == &index; });
  for (Waiter* const waiter : others) waiter->home.deliver(*waiter);
  waiters.erase(others.begin(), others.end());
  for (Waiter* const waiter : waiters) CacheIndex::resume(*waiter);
}

void Cache::forget(const Folder& folder, std::string_view path) {
  std::vector<Entry> dropped;
  const std::lock_guard lock(mutex_);
  const auto found = places_.find({&folder, path});
  if (found != places_.end()) drop(found->second);
  dropped = take_dropped();
}

void Cache::forget(const Folder& folder) {
  std::vector<Entry> dropped;
  const std::lock_guard lock(mutex_);
  for (Entries* const entries : {&plain_, &mapped_}) {
    for (auto entry = entries->begin(); entry != entries->end();) {
      const auto next = std::next(entry);
      if (&(*entry)->folder == &folder) drop(entry);
      entry = next;
    }
  }
  dropped = take_dropped();
}

// --- loading ----------------------------------------------------------------------------------

Task<Cache::Entry> Cache::load_entry(io::Engine* engine, const Folder& folder, std::string path,
                                     std::int64_t now_ms) {
  Kept kept;
  {
    std::vector<Entry> dropped;
    const std::lock_guard lock(mutex_);
    kept = kept_for({&folder, path}, now_ms);
    ++loads_;
    dropped = take_dropped();
  }
  Loaded loaded = co_await load(engine, folder, path, std::move(kept));
  const bool failed = loaded.lookup.kind == Lookup::Kind::failed;
  auto entry = std::make_shared<const CacheEntry>(folder, std::move(path), std::move(loaded.lookup),
                                                  loaded.settled, now_ms, failed);
  std::vector<Entry> dropped;
  const std::lock_guard lock(mutex_);
  Entry current = update(entry);  // as in keep()
  dropped = take_dropped();
  co_return current;
}

Cache::Kept Cache::kept_for(const CacheKey& key, std::int64_t now_ms) {
  const auto found = places_.find(key);
  if (found == places_.end() || !(*found->second)->settled) return {};
  const CacheEntry& entry = **found->second;
  Kept kept{.file = entry.lookup.file};
  if (kept.file == nullptr || !kept.file->content().changes_with_file()) return kept;
  // Cleared, so that others who load the file meanwhile do not copy it too.
  const bool used_again = entry.used.exchange(false, std::memory_order_relaxed);
  // Each use of such a file is a load.
  if (!used_again && kept.file->content().may_wait()) entry.note_use();
  const FileVersion& version = kept.file->content().version();
  const std::int64_t age_s = base::unix_seconds() - version.changed_s;
  if (used_again && age_s >= limits_.snapshot_age_s_min &&
      version.size <= limits_.snapshot_bytes_max && may_copy(version.size, now_ms) &&
      make_room_for_snapshot(version.size, now_ms)) {
    kept.snapshots_bytes_max = limits_.snapshots_bytes_max;
    copied_bytes_ += version.size;
  }
  return kept;
}

// Bounds what clients that ask for many files in turn make the server copy.
bool Cache::may_copy(std::uint64_t bytes, std::int64_t now_ms) {
  constexpr std::uint64_t bytes_per_s_max = 64 * 1024 * 1024;
  if (now_ms - copying_since_ms_ >= 1000) {
    copying_since_ms_ = now_ms;
    copied_bytes_ = 0;
  }
  return bytes <= bytes_per_s_max - copied_bytes_;
}

// Drops snapshots that nobody asks for any more, if that makes enough room. If it does not, those
// in use are worth more: files that take each other's place would be copied again and again. What
// is dropped is free when nobody sends it any more, so the copy may fail until then.
bool Cache::make_room_for_snapshot(std::uint64_t bytes, std::int64_t now_ms) {
  constexpr std::int64_t idle_ms = 10'000;  // since its last check went stale
  const std::uint64_t wanted = Content::snapshot_bytes() + bytes;
  std::vector<const CacheEntry*> idle;
  std::uint64_t idle_bytes = 0;
  for (const CacheEntry* const entry : snapshots_) {
    if (wanted <= limits_.snapshots_bytes_max + idle_bytes) break;
    const std::int64_t checked_ms = entry->checked_ms.load(std::memory_order_relaxed);
    if (now_ms - checked_ms - idle_ms < entry->folder.fresh_ms()) continue;
    idle.push_back(entry);
    idle_bytes += entry->lookup.file->size();
  }
  if (wanted > limits_.snapshots_bytes_max + idle_bytes) return false;
  for (const CacheEntry* const entry : idle) {
    drop(places_.find({&entry->folder, entry->path})->second);
  }
  return true;
}

Task<Cache::Loaded> Cache::load(io::Engine* engine, const Folder& folder, std::string path,
                                Kept kept) {
  if (engine == nullptr || !folder.may_wait()) {
    Loaded loaded = co_await load_here(engine, folder, path, kept);
    if (!loaded.crosses_mounts) co_return loaded;
  }
  const auto work = [&] { return load_now(folder, path, kept); };
  WaitingOptions options = on_slow_file_system(folder.device());
  options.ends_with_task = false;  // others may wait for it
  std::optional<Loaded> loaded = co_await run_waiting(engine, work, options);
  if (!loaded) loaded.emplace().lookup.kind = Lookup::Kind::failed;  // the engine stops
  co_return *std::move(loaded);
}

// Makes all calls on this thread, which waits for them.
Cache::Loaded Cache::load_now(const Folder& folder, const std::string& path, const Kept& kept) {
  Loaded loaded;
  TaskGroup task;
  task.start(store_loaded(load_here(nullptr, folder, path, kept), loaded));
  ASSERT(task.running() == 0);  // without an engine nothing suspends
  return loaded;
}

Task<void> Cache::store_loaded(Task<Loaded> task, Loaded& loaded) { loaded = co_await task; }

Task<Cache::Loaded> Cache::load_here(io::Engine* engine, const Folder& folder,
                                     const std::string& path, const Kept& kept) {
  constexpr int attempts_max = 3;  // a file may change while it is read
  Loaded loaded;
  take_spare();
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    loaded = co_await load_once(engine, folder, path, kept);
    take_spare();
    if (loaded.lookup.kind != Lookup::Kind::failed || loaded.crosses_mounts) break;
  }
  co_return loaded;
}

Task<Cache::Loaded> Cache::load_once(io::Engine* engine, const Folder& folder,
                                     const std::string& path, const Kept& kept) {
  Loaded loaded;
  loaded.lookup.kind = Lookup::Kind::failed;
  Result<base::Fd, int> opened = co_await open_beneath(engine, folder.fd(), path, O_RDONLY);
  const bool lacks_descriptors = !opened && (opened.error() == EMFILE || opened.error() == ENFILE);
  if (lacks_descriptors) {
    spare.close();
    opened = co_await open_beneath(engine, folder.fd(), path, O_RDONLY);
  }
  if (!opened) {
    loaded.crosses_mounts = opened.error() == EXDEV;
    if (!loaded.crosses_mounts) loaded.lookup.kind = kind_of_error(opened.error());
    co_return loaded;
  }
  // On an event loop the file system is the folder's, which keeps the attributes of an open file in
  // memory: fstat does not wait.
  struct stat status{};
  if (::fstat(opened->get(), &status) != 0) co_return loaded;
  if (!S_ISREG(status.st_mode)) {
    loaded.lookup.kind = S_ISDIR(status.st_mode) ? Lookup::Kind::directory : Lookup::Kind::absent;
    co_return loaded;
  }
  const std::optional<FileVersion> version = version_of(opened->get());
  if (!version) co_return loaded;
  const bool same_mount = engine != nullptr || version->device == folder.device();
  const bool slow = same_mount ? folder.may_wait() : folder.finds_slow(opened->get());
  if (kept.file != nullptr && kept.file->content().version() == *version) {
    loaded.lookup = {Lookup::Kind::file, kept.file};
    if (kept.snapshots_bytes_max > 0) {
      FileRef snapshot = co_await take_snapshot(engine, kept, opened->get());
      if (snapshot != nullptr) loaded.lookup.file = std::move(snapshot);
    }
    co_return loaded;
  }
  loaded.settled = is_settled(*version);
  std::unique_ptr<const Content> content;
  if (version->size <= limits_.held_bytes_max) {
    content = co_await hold(engine, *version, opened->get());
  } else if (slow) {
    content = Content::on_slow_file_system(*version, *std::move(opened));
  } else {
    content = Content::map(*version, *std::move(opened));
    if (content->may_wait()) folder.report_unmapped(path, errno);
  }
  if (content == nullptr) co_return loaded;
  loaded.lookup = {Lookup::Kind::file,
                   folder.make_file(std::move(content), path, base::unix_seconds())};
  co_return loaded;
}

Task<FileRef> Cache::refresh(io::Engine* engine, const Folder& folder, std::string path,
                             FileRef file, std::int64_t now_ms) {
  Kept kept;
  {
    std::vector<Entry> dropped;
    const std::lock_guard lock(mutex_);
    kept = kept_for({&folder, path}, now_ms);
    dropped = take_dropped();
  }
  if (kept.file != file || kept.snapshots_bytes_max == 0) co_return file;
  const int descriptor = file->content().descriptor();
  FileRef snapshot = co_await take_snapshot(engine, std::move(kept), descriptor);
  co_return snapshot != nullptr ? std::move(snapshot) : std::move(file);
}

// Returns null if there is no snapshot to be had; the mapped file serves as well.
Task<FileRef> Cache::take_snapshot(io::Engine* engine, Kept kept, int descriptor) {
  const auto take = [&] {
    return Content::snapshot(kept.file->content().version(), descriptor, kept.snapshots_bytes_max);
  };
  auto taken = co_await run_waiting(engine, take);
  if (!taken || *taken == nullptr) co_return nullptr;
  co_return std::make_shared<const File>(*std::move(taken), *kept.file);
}

// --- keeping ----------------------------------------------------------------------------------

// Returns the entry to use: the one there is, if the file system has not changed or a later check
// made it, or `entry`. A snapshot stays in place of the file that it was taken of. A failure is not
// kept, because a retry may succeed, and neither is what exceeds the whole budget.
Cache::Entry Cache::update(Entry entry) {
  if (entry->dropped.load()) return entry;
  const auto found = places_.find({&entry->folder, entry->path});
  if (found != places_.end()) {
    const Entry& present = *found->second;
    const std::int64_t latest_ms = std::max(present->checked_ms.load(), entry->checked_ms.load());
    if (same_version(*present, *entry)) {
      if (!has_snapshot(*entry) || has_snapshot(*present)) {
        present->checked_ms.store(latest_ms, std::memory_order_relaxed);
        return present;
      }
      entry->checked_ms.store(latest_ms, std::memory_order_relaxed);
    } else if (present->checked_ms.load() > entry->checked_ms.load()) {
      return present;
    }
    drop(found->second);
  }
  const std::size_t bytes = cost_of(*entry);
  if (bytes > limits_.bytes_max) {
    entry->dropped.store(true);
    return entry;
  }
  make_room(bytes, has_descriptor(*entry));
  Entries& entries = list_of(*entry);
  entries.push_front(entry);
  entry->last_use = ++uses_;
  places_.emplace(CacheKey{&entry->folder, entry->path}, entries.begin());
  bytes_ += bytes;
  if (has_snapshot(*entry)) snapshots_.push_back(entry.get());
  return entry;
}

void Cache::make_room(std::size_t bytes, bool has_descriptor) {
  while (count() > 0 && (count() >= limits_.entries_max || bytes_ + bytes > limits_.bytes_max)) {
    drop(victim(false));
  }
  while (has_descriptor && !mapped_.empty() && mapped_.size() >= limits_.mapped_max) {
    drop(victim(true));
  }
}

Cache::Entries& Cache::list_of(const CacheEntry& entry) noexcept {
  return has_descriptor(entry) ? mapped_ : plain_;
}

void Cache::move_to_front(Entries::iterator entry) noexcept {
  Entries& entries = list_of(**entry);
  entries.splice(entries.begin(), entries, entry);
  (*entry)->last_use = ++uses_;
}

Cache::Entries::iterator Cache::least_recently_used() noexcept {
  if (plain_.empty()) return std::prev(mapped_.end());
  if (mapped_.empty()) return std::prev(plain_.end());
  const bool is_mapped = mapped_.back()->last_use < plain_.back()->last_use;
  return std::prev(is_mapped ? mapped_.end() : plain_.end());
}

// The least recently used entry. One that an index has used since it was last looked at gets a
// second chance: it moves to the front.
Cache::Entries::iterator Cache::victim(bool has_descriptor) {
  for (;;) {
    const auto entry = has_descriptor ? std::prev(mapped_.end()) : least_recently_used();
    if (!(*entry)->used.exchange(false, std::memory_order_relaxed)) return entry;
    move_to_front(entry);
  }
}

void Cache::drop(Entries::iterator entry) {
  const CacheEntry& one = **entry;
  if (has_snapshot(one)) std::erase(snapshots_, &one);
  bytes_ -= cost_of(one);
  one.dropped.store(true, std::memory_order_release);
  places_.erase({&one.folder, one.path});
  Entries& entries = list_of(one);
  dropped_.push_back(std::move(*entry));
  entries.erase(entry);
}

// An idle worker would otherwise keep the memory of dropped entries.
std::vector<Cache::Entry> Cache::take_dropped() {
  std::vector<Entry> indexed;
  for (const Entry& entry : dropped_) {
    if (entry.use_count() > 1) indexed.push_back(entry);
  }
  if (!indexed.empty()) {
    for (CacheIndex* const index : indexes_) index->release(indexed);
  }
  return std::exchange(dropped_, {});
}

}  // namespace h2server::file
