// CacheIndex: one worker's view of the cache. A hit takes no lock and writes to no memory that
// other workers use: even the reference count of its files is the worker's own.
//
// Belongs to an engine with a loop, whose owner adds it. All functions are for the engine's thread
// unless they say otherwise.
#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/counter.h"
#include "file/cache.h"
#include "io/engine.h"

namespace h2server::file {

class CacheIndex final : public io::EngineLocal {
 public:
  // Adds an index of that cache to the engine.
  static void add_to(io::Engine& engine, Cache& cache);
  // Returns the engine's index of that cache, or null if it has none.
  [[nodiscard]] static CacheIndex* of(const io::Engine& engine, const Cache& cache) noexcept;

  CacheIndex(io::Engine& engine, Cache& cache);
  ~CacheIndex() override;

  [[nodiscard]] io::Engine& engine() const noexcept { return engine_; }

  // Returns null if the index has no fresh entry. Valid until the next call of another function.
  const Lookup* known(const Folder& folder, std::string_view path, std::int64_t now_ms) const;
  // Returns the entry's lookup, whose file is counted by this index.
  Lookup keep(const Cache::Entry& entry);

  // Resumes a waiter on this engine's thread. Any thread.
  void deliver(Cache::Waiter& waiter);
  // Resumes a waiter of the calling thread.
  static void resume(Cache::Waiter& waiter);
  // Makes the engine's thread release these entries soon. Any thread.
  void release(const std::vector<Cache::Entry>& dropped);
  void woken() override;
  // Lookups that known() has answered. Any thread.
  [[nodiscard]] std::uint64_t hits() const noexcept { return hits_.get(); }
  // Called when the cache is destroyed, on any thread. No worker may use it any more.
  void detach() noexcept { cache_ = nullptr; }

 private:
  struct Slot {
    Cache::Entry entry;
    Lookup lookup;
  };

  io::Engine& engine_;
  Cache* cache_;
  mutable base::Counter hits_;
  std::unordered_map<CacheKey, Slot, CacheKeyHash> slots_;  // the keys' paths belong to the entries
  std::mutex mutex_;                                        // for all below
  std::vector<Cache::Waiter*> delivered_;
  std::vector<Cache::Entry> dropped_;
};

}  // namespace h2server::file
