// LeasedSweep: looks through a store for what can go. Of all replicas, one at a time does it, as a
// lease in the store says.
//
// Any thread. The store must outlive it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "content/storage/last_sweep.h"
#include "h2server/store.h"
#include "h2server/task.h"

namespace h2server::content {

class LeasedSweep {
 public:
  // `key`: of the lease. `pause_ms`: between two sweeps, at most a minute. `what`: what is looked
  // for, in log lines.
  LeasedSweep(Store& store, std::string_view key, std::int64_t pause_ms, std::string_view what)
      : store_(store), key_(key), pause_ms_(pause_ms), what_(what) {}
  LeasedSweep(const LeasedSweep&) = delete;
  LeasedSweep& operator=(const LeasedSweep&) = delete;
  virtual ~LeasedSweep() = default;

  // Sweeps, unless another replica did that lately. What fails is logged, and tried again later.
  Task<void> run();
  // Calls run() if nobody has for two pauses. For requests: schemes without event loops have no
  // upkeep.
  Task<void> run_if_due();
  [[nodiscard]] std::int64_t pause_ms() const noexcept { return pause_ms_; }

 private:
  // One sweep, by one caller at a time.
  virtual Task<StoreResult<void>> sweep() = 0;
  Task<StoreResult<void>> run_leased();

  Store& store_;
  const std::string key_;
  const std::int64_t pause_ms_;
  const std::string what_;
  LastSweep last_sweep_;
  std::atomic<bool> running_{false};
};

}  // namespace h2server::content
