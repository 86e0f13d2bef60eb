#include "content/uploads/stored/part_budget.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "h2server/timing.h"

namespace h2server::content {

std::uint64_t PartBudget::most() const noexcept {
  return base::MemoryBudget::of_process().at_most(bytes_max_, 4);
}

bool PartBudget::fits(std::uint64_t bytes) const noexcept {
  const std::uint64_t all = most();
  return taken_ == 0 || (taken_ < all && bytes <= all - taken_);
}

bool PartBudget::within_share(std::uint64_t bytes, const std::string& client) const {
  const auto own = by_client_.find(client);
  return own == by_client_.end() || own->second + bytes <= most() / 2;
}

bool PartBudget::may_take(std::uint64_t bytes, const std::string& client) const {
  const bool others_first = std::ranges::any_of(
      waiting_, [this](const Waiter& one) { return within_share(one.bytes, one.client); });
  return !others_first && fits(bytes) && within_share(bytes, client);
}

void PartBudget::add(std::uint64_t bytes, const std::string& client) {
  taken_ += bytes;
  charge_.set(taken_);
  if (!client.empty()) by_client_[client] += bytes;
}

bool PartBudget::try_take(std::uint64_t bytes, const std::string& client) {
  const std::lock_guard lock(mutex_);
  if (!may_take(bytes, client)) return false;
  add(bytes, client);
  return true;
}

// Moves those whose turn it is. They are woken without the lock.
void PartBudget::grant(Waiters& granted) {
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const auto one = next++;
    if (!within_share(one->bytes, one->client)) continue;  // does not hold up others
    if (!fits(one->bytes)) return;
    add(one->bytes, one->client);
    granted.splice(granted.end(), waiting_, one);
  }
}

void PartBudget::give_back(std::uint64_t bytes, const std::string& client) {
  Waiters granted;
  {
    const std::lock_guard lock(mutex_);
    taken_ -= bytes;
    charge_.set(taken_);
    if (const auto own = by_client_.find(client); own != by_client_.end()) {
      own->second -= bytes;
      if (own->second == 0) by_client_.erase(own);
    }
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

Task<Result<void>> PartBudget::wait(std::uint64_t bytes, std::string client) {
  std::optional<Completion<void>> turn;
  {
    const std::lock_guard lock(mutex_);
    if (may_take(bytes, client)) {
      add(bytes, client);
      co_return Result<void>();
    }
    turn.emplace();
    waiting_.push_back({&*turn, bytes, client, turn->completer()});
  }
  const Result<void> woken = co_await *turn;
  if (!woken && !forget(*turn)) give_back(bytes, client);  // they came too late
  co_return woken;
}

Task<bool> PartBudget::take(std::uint64_t bytes, std::string client,
                            std::chrono::milliseconds time_max) {
  if (try_take(bytes, client)) co_return true;
  if (time_max.count() == 0) co_return false;
  const Result<void> taken = co_await with_timeout(time_max, wait(bytes, std::move(client)));
  co_return taken.has_value();
}

std::uint64_t PartBudget::taken() const {
  const std::lock_guard lock(mutex_);
  return taken_;
}

BudgetShare try_share(PartBudget& budget, std::uint64_t bytes, std::string client) {
  const bool taken = budget.try_take(bytes, client);
  return {taken ? &budget : nullptr, GiveBack{bytes, std::move(client)}};
}

Task<BudgetShare> share(PartBudget& budget, std::uint64_t bytes, std::string client,
                        std::chrono::milliseconds time_max) {
  const bool taken = co_await budget.take(bytes, client, time_max);
  co_return BudgetShare(taken ? &budget : nullptr, GiveBack{bytes, std::move(client)});
}

}  // namespace h2server::content
