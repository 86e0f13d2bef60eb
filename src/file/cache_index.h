// CacheIndex: one worker's view of the cache. A hit takes no lock and writes to no memory that
// other workers use: even the reference count of its files is the worker's own.
//
// Belongs to an engine with a loop; all functions are for its thread unless they say otherwise.
#pragma once

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "file/cache.h"
#include "io/engine.h"

namespace h2server::file {

class CacheIndex final : public io::EngineLocal {
 public:
  // Returns the engine's index of that cache. Makes it on first use.
  static CacheIndex& of(io::Engine& engine, Cache& cache);

  CacheIndex(io::Engine& engine, Cache& cache);
  ~CacheIndex() override;

  // Returns null if the index has no fresh entry. Valid until the next call of another function.
  const Lookup* known(const Folder& folder, std::string_view path, std::int64_t now_ms) const;
  // Returns the entry's lookup, whose file is counted by this index.
  Lookup keep(const Cache::Entry& entry);

  // Resumes a waiter on this engine's thread. Any thread.
  void deliver(Cache::Waiter& waiter);
  // Makes the engine's thread release dropped entries soon. Any thread.
  void ask_to_sweep() noexcept;
  void woken() override;
  // The cache is being destroyed. No worker may use it any more.
  void detach() noexcept { cache_ = nullptr; }

 private:
  struct Slot {
    Cache::Entry entry;
    Lookup lookup;
  };

  io::Engine& engine_;
  Cache* cache_;
  std::unordered_map<CacheKey, Slot, CacheKeyHash> slots_;  // the keys' paths belong to the entries
  std::atomic<bool> sweep_asked_{false};
  std::mutex mutex_;
  std::vector<Cache::Waiter*> delivered_;
};

}  // namespace h2server::file
