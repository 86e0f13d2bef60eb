#include "file/cache_index.h"

#include <algorithm>

namespace h2server::file {

void CacheIndex::add_to(io::Engine& engine, Cache& cache) {
  engine.set_local(&cache, std::make_unique<CacheIndex>(engine, cache));
}

CacheIndex* CacheIndex::of(const io::Engine& engine, const Cache& cache) noexcept {
  return static_cast<CacheIndex*>(engine.local(&cache));
}

CacheIndex::CacheIndex(io::Engine& engine, Cache& cache) : engine_(engine), cache_(&cache) {
  Cache::take_spare_descriptor();
  const std::lock_guard lock(cache.mutex_);
  cache.indexes_.push_back(this);
}

CacheIndex::~CacheIndex() {
  if (cache_ == nullptr) return;
  const std::lock_guard lock(cache_->mutex_);
  cache_->hits_ += hits();
  std::erase(cache_->indexes_, this);
}

const Lookup* CacheIndex::known(const Folder& folder, std::string_view path,
                                std::int64_t now_ms) const {
  const auto found = slots_.find({&folder, path});
  if (found == slots_.end()) return nullptr;
  const CacheEntry& entry = *found->second.entry;
  if (!entry.is_fresh(now_ms)) return nullptr;
  entry.note_use();
  hits_.up();
  return &found->second.lookup;
}

Lookup CacheIndex::keep(const Cache::Entry& entry) {
  const CacheKey key{&entry->folder, entry->path};
  if (const auto found = slots_.find(key); found != slots_.end()) {
    if (found->second.entry == entry) return found->second.lookup;
    slots_.erase(found);  // before its entry goes, to which the key refers
  }
  Lookup lookup = entry->lookup;
  if (lookup.file != nullptr) lookup.file = FileRef(lookup.file.get(), [entry](const File*) {});
  if (!entry->dropped.load()) slots_.emplace(key, Slot{entry, lookup});
  return lookup;
}

// Woken with the lock held: once it is released, the engine's thread may end its connections and
// then its engine.
void CacheIndex::deliver(Cache::Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  delivered_.push_back(&waiter);
  engine_.wake();
}

void CacheIndex::resume(Cache::Waiter& waiter) {
  if (waiter.limit != nullptr) waiter.limit->cancel();
  waiter.answered.set();
}

void CacheIndex::release(const std::vector<Cache::Entry>& dropped) {
  const std::lock_guard lock(mutex_);
  dropped_.insert(dropped_.end(), dropped.begin(), dropped.end());
  engine_.wake();
}

void CacheIndex::woken() {
  std::vector<Cache::Waiter*> delivered;
  std::vector<Cache::Entry> dropped;
  {
    const std::lock_guard lock(mutex_);
    delivered.swap(delivered_);
    dropped.swap(dropped_);
  }
  for (const Cache::Entry& entry : dropped) {
    const auto found = slots_.find({&entry->folder, entry->path});
    if (found != slots_.end() && found->second.entry == entry) slots_.erase(found);
  }
  for (Cache::Waiter* const waiter : delivered) resume(*waiter);
}

}  // namespace h2server::file
