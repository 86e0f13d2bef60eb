#include "file/cache_index.h"

#include <algorithm>

namespace h2server::file {

CacheIndex& CacheIndex::of(io::Engine& engine, Cache& cache) {
  if (io::EngineLocal* const found = engine.local(&cache)) return static_cast<CacheIndex&>(*found);
  auto made = std::make_unique<CacheIndex>(engine, cache);
  CacheIndex& index = *made;
  engine.set_local(&cache, std::move(made));
  return index;
}

CacheIndex::CacheIndex(io::Engine& engine, Cache& cache) : engine_(engine), cache_(&cache) {
  const std::lock_guard lock(cache.mutex_);
  cache.indexes_.push_back(this);
}

CacheIndex::~CacheIndex() {
  if (cache_ == nullptr) return;
  const std::lock_guard lock(cache_->mutex_);
  std::erase(cache_->indexes_, this);
}

const Lookup* CacheIndex::known(const Folder& folder, std::string_view path,
                                std::int64_t now_ms) const {
  const auto found = slots_.find({&folder, path});
  if (found == slots_.end() || !found->second.entry->is_fresh(now_ms)) return nullptr;
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

void CacheIndex::deliver(Cache::Waiter& waiter) {
  {
    const std::lock_guard lock(mutex_);
    delivered_.push_back(&waiter);
  }
  engine_.wake();
}

void CacheIndex::ask_to_sweep() noexcept {
  sweep_asked_.store(true);
  engine_.wake();
}

void CacheIndex::woken() {
  if (sweep_asked_.exchange(false)) {
    std::erase_if(slots_, [](const auto& slot) { return slot.second.entry->dropped.load(); });
  }
  std::vector<Cache::Waiter*> delivered;
  {
    const std::lock_guard lock(mutex_);
    delivered.swap(delivered_);
  }
  for (Cache::Waiter* const waiter : delivered) waiter->found.set();
}

}  // namespace h2server::file
