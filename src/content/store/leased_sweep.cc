#include "content/store/leased_sweep.h"

#include <chrono>
#include <exception>

#include "base/log.h"
#include "content/store/store_lease.h"

namespace h2server::content {

using Kind = StoreError::Kind;

namespace {

// No sweep has a longer lease, and clocks differ by seconds.
constexpr std::chrono::milliseconds believed_max{70'000};
constexpr std::string_view sweep_failed = "can't look for {} in the store: {}";

}  // namespace

Task<void> LeasedSweep::run_if_due() {
  if (last_sweep_.take_turn(pause_ms_)) co_await run();
}

Task<void> LeasedSweep::run() {
  last_sweep_.note();
  if (running_.exchange(true)) co_return;
  try {
    const StoreResult<void> done = co_await run_leased();
    if (!done && done.error().kind != Kind::stopped) {
      base::log_warning(sweep_failed, what_, done.error().reason);
    }
  } catch (const std::exception& error) {  // a request does not fail for what its sweep lacks
    base::log_warning(sweep_failed, what_, error.what());
  }
  running_ = false;
}

Task<StoreResult<void>> LeasedSweep::run_leased() {
  // It is not given back: the other replicas need not sweep within its time either. It ends before
  // this one sweeps again.
  const std::chrono::milliseconds time(pause_ms_ * 3 / 4);
  StoreLease lease(store_, key_, time);
  StoreResult<void> taken = co_await lease.take_over(believed_max);
  if (!taken && taken.error().kind == Kind::precondition) co_return StoreResult<void>();
  if (!taken) co_return taken;
  StoreResult<void> swept = co_await sweep();
  co_return swept;
}

}  // namespace h2server::content
