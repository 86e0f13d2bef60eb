// PartBudget: the memory that uploads to a store may take together: so much, and no more than a
// quarter of ServerOptions::memory_max, of which it is counted. Who finds none left waits. A
// client, which is a name of its network (content/files/client_places.h), gets the half at most;
// who has no name shares all.
//
// Any thread; take() for handlers and tasks of a worker.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/memory/memory_budget.h"
#include "h2server/completion.h"
#include "h2server/result.h"
#include "h2server/task.h"

namespace h2server::content {

class PartBudget {
 public:
  explicit PartBudget(std::uint64_t bytes_max) noexcept : bytes_max_(bytes_max) {}
  PartBudget(const PartBudget&) = delete;
  PartBudget& operator=(const PartBudget&) = delete;

  // Takes so many bytes, all or none. More than there are at all are granted when nobody has any.
  // Fails also while others wait, but for those who wait for what their own client has.
  [[nodiscard]] bool try_take(std::uint64_t bytes, const std::string& client);
  // Waits for them in turn; false if the time passes, or the task is to stop. Who has some already
  // must not wait for more. No time: as try_take().
  Task<bool> take(std::uint64_t bytes, std::string client, std::chrono::milliseconds time_max);
  void give_back(std::uint64_t bytes, const std::string& client);

  [[nodiscard]] std::uint64_t taken() const;

 private:
  struct Waiter {
    const Completion<void>* turn;  // who it is
    std::uint64_t bytes;
    std::string client;
    Completer<void> wake;
  };
  using Waiters = std::list<Waiter>;

  // With the lock held.
  [[nodiscard]] std::uint64_t most() const noexcept;
  [[nodiscard]] bool fits(std::uint64_t bytes) const noexcept;
  [[nodiscard]] bool within_share(std::uint64_t bytes, const std::string& client) const;
  [[nodiscard]] bool may_take(std::uint64_t bytes, const std::string& client) const;
  void add(std::uint64_t bytes, const std::string& client);
  void grant(Waiters& granted);
  Task<Result<void>> wait(std::uint64_t bytes, std::string client);
  [[nodiscard]] bool forget(const Completion<void>& turn);

  const std::uint64_t bytes_max_;
  mutable std::mutex mutex_;  // for all below
  std::uint64_t taken_ = 0;
  std::map<std::string, std::uint64_t> by_client_;  // of those with a name that have some
  base::MemoryCharge charge_{base::MemoryOwner::uploads};
  Waiters waiting_;
};

// Bytes of a budget, which are given back in the end. Null: none.
struct GiveBack {
  std::uint64_t bytes = 0;
  std::string client = {};
  void operator()(PartBudget* budget) const { budget->give_back(bytes, client); }
};
using BudgetShare = std::unique_ptr<PartBudget, GiveBack>;
[[nodiscard]] BudgetShare try_share(PartBudget& budget, std::uint64_t bytes, std::string client);
// See take(); null in place of false.
Task<BudgetShare> share(PartBudget& budget, std::uint64_t bytes, std::string client,
                        std::chrono::milliseconds time_max);

}  // namespace h2server::content
