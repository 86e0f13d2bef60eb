#include "content/coding/encoded_copies.h"

#include <utility>

#include "base/assert.h"
#include "io/engine.h"

namespace h2server::content {

CopyBudget& CopyBudget::of_process() {
  constexpr std::size_t bytes_max = 64 * 1024 * 1024;
  // Never destroyed: the process's file cache, whose files use it, is not either.
  static CopyBudget& budget = *std::make_unique<CopyBudget>(bytes_max).release();
  return budget;
}

bool CopyBudget::take(std::size_t bytes) noexcept {
  const std::uint64_t most = base::MemoryBudget::of_process().at_most(bytes_max_, parts);
  std::size_t used = used_.load(std::memory_order_relaxed);
  do {
    if (used > most || bytes > most - used) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

EncodedCopies::~EncodedCopies() {
  if (budget_ != nullptr) budget_->give_back(bytes_);
}

bool EncodedCopies::claim(Coding coding) noexcept {
  State expected = State::unknown;
  return slot(coding).state.compare_exchange_strong(expected, State::busy,
                                                    std::memory_order_acq_rel);
}

void EncodedCopies::settle(Coding coding, std::unique_ptr<const File> copy, CopyBudget& budget,
                           std::size_t bytes) {
  Slot& own = slot(coding);
  ASSERT(own.state == State::busy && own.copy == nullptr);
  const State state = copy != nullptr ? State::ready : State::unknown;
  own.copy = std::move(copy);
  {
    const std::lock_guard lock(mutex_);
    ASSERT(budget_ == nullptr || budget_ == &budget);
    budget_ = &budget;
    bytes_ += bytes;
  }
  end(own, state);
}

void EncodedCopies::refuse(Coding coding) {
  for (Slot& other : slots_) {
    State expected = State::unknown;
    other.state.compare_exchange_strong(expected, State::refused, std::memory_order_acq_rel);
  }
  ASSERT(slot(coding).state == State::busy);
  end(slot(coding), State::refused);
}

void EncodedCopies::end(Slot& slot, State state) {
  std::vector<Completer<void>> waiters;
  {
    const std::lock_guard lock(mutex_);
    slot.state.store(state, std::memory_order_release);
    waiters.swap(slot.waiters);
  }
  slot.state.notify_all();
  for (const Completer<void>& waiter : waiters) waiter();
}

Task<void> EncodedCopies::wait(Coding coding) {
  Slot& own = slot(coding);
  const io::Engine* const engine = io::Engine::current();
  if (engine == nullptr || !engine->has_loop()) {
    own.state.wait(State::busy, std::memory_order_acquire);
    co_return;
  }
  Completion<void> ended;
  {
    const std::lock_guard lock(mutex_);
    if (own.state.load(std::memory_order_acquire) != State::busy) co_return;
    own.waiters.push_back(ended.completer());
  }
  // Fails if the task is to stop; then the caller finds the copy still busy.
  const Result<void> result = co_await ended;
  static_cast<void>(result);
}

}  // namespace h2server::content
