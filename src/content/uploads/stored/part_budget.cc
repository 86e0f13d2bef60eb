#include "content/uploads/stored/part_budget.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "h2server/timing.h"

namespace h2server::content {

bool PartBudget::fits(std::uint64_t bytes) const noexcept {
  const std::uint64_t most = base::MemoryBudget::of_process().at_most(bytes_max_, 4);
  return taken_ == 0 || (taken_ < most && bytes <= most - taken_);
}

void PartBudget::count_taken(std::uint64_t bytes) noexcept {
  taken_ = bytes;
  charge_.set(bytes);
}

bool PartBudget::try_take(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!waiting_.empty() || !fits(bytes)) return false;
  count_taken(taken_ + bytes);
  return true;
}

// Moves those whose turn it is. They are woken without the lock.
void PartBudget::grant(Waiters& granted) {
  while (!waiting_.empty() && fits(waiting_.front().bytes)) {
    count_taken(taken_ + waiting_.front().bytes);
    granted.splice(granted.end(), waiting_, waiting_.begin());
  }
}

void PartBudget::give_back(std::uint64_t bytes) {
  Waiters granted;
  {
    const std::lock_guard lock(mutex_);
    count_taken(taken_ - bytes);
    grant(granted);
  }
  for (const Waiter& one : granted) one.wake();
}

// Returns false if it waits no longer: its bytes were granted.
bool PartBudget::forget(const Completion<void>& turn) {
  Waiters granted;
  {
    const std::lock_guard lock(mutex_);
    const auto own = std::ranges::find(waiting_, &turn, &Waiter::turn);
    if (own == waiting_.end()) return false;
    waiting_.erase(own);
    grant(granted);  // those behind it may fit
  }
  for (const Waiter& one : granted) one.wake();
  return true;
}

Task<Result<void>> PartBudget::wait(std::uint64_t bytes) {
  std::optional<Completion<void>> turn;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty() && fits(bytes)) {
      count_taken(taken_ + bytes);
      co_return Result<void>();
    }
    turn.emplace();
    waiting_.push_back({&*turn, bytes, turn->completer()});
  }
  const Result<void> woken = co_await *turn;
  if (!woken && !forget(*turn)) give_back(bytes);  // they came too late
  co_return woken;
}

Task<bool> PartBudget::take(std::uint64_t bytes, std::chrono::milliseconds time_max) {
  if (try_take(bytes)) co_return true;
  if (time_max.count() == 0) co_return false;
  const Result<void> taken = co_await with_timeout(time_max, wait(bytes));
  co_return taken.has_value();
}

std::uint64_t PartBudget::taken() const {
  const std::lock_guard lock(mutex_);
  return taken_;
}

BudgetShare try_share(PartBudget& budget, std::uint64_t bytes) {
  return {budget.try_take(bytes) ? &budget : nullptr, GiveBack{bytes}};
}

Task<BudgetShare> share(PartBudget& budget, std::uint64_t bytes,
                        std::chrono::milliseconds time_max) {
  const bool taken = co_await budget.take(bytes, time_max);
  co_return BudgetShare(taken ? &budget : nullptr, GiveBack{bytes});
}

}  // namespace h2server::content
