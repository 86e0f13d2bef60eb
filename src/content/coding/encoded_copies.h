// EncodedCopies: the copies of a file in content codings, made when they are first asked for.
//
// The file owns them as its extension, so they live as long as it does. All workers use them: a
// copy is made by the one that claims it, while others wait, and never changes after that. Any
// thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/memory/memory_budget.h"
#include "content/coding/coding.h"
#include "h2server/completion.h"
#include "h2server/file.h"
#include "h2server/task.h"

namespace h2server::content {

// Bytes that copies occupy, of all servers of the process: so many at most, and no more than half
// of ServerOptions::memory_max. Any thread.
class CopyBudget {
 public:
  explicit CopyBudget(std::size_t bytes_max) noexcept : bytes_max_(bytes_max) {}
  CopyBudget(const CopyBudget&) = delete;
  CopyBudget& operator=(const CopyBudget&) = delete;
  static constexpr unsigned parts = 2;  // of ServerOptions::memory_max
  [[nodiscard]] std::size_t bytes_max() const noexcept { return bytes_max_; }
  // Of encoded copies. 64 MiB: a quarter of what the file cache holds, as text shrinks to that.
  static CopyBudget& of_process();

  // Returns true if so many more bytes may be used at this moment.
  [[nodiscard]] bool has_room(std::uint64_t bytes) const noexcept {
    const std::size_t used = used_.load(std::memory_order_relaxed);
    const std::uint64_t most = base::MemoryBudget::of_process().at_most(bytes_max_, parts);
    return used <= most && bytes <= most - used;
  }
  // Returns false, without effect, if there is not that much left.
  [[nodiscard]] bool take(std::size_t bytes) noexcept;
  void give_back(std::size_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  [[nodiscard]] std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }

 private:
  const std::size_t bytes_max_;
  std::atomic<std::size_t> used_{0};
};

class EncodedCopies final : public FileExtension {
 public:
  // Returns null if the file's type is not compressible.
  [[nodiscard]] static EncodedCopies* of(const File& file) noexcept {
    return static_cast<EncodedCopies*>(file.extension());
  }

  //  unknown → busy      claim()
  //  busy    → ready     settle() with a copy
  //  busy    → unknown   settle() without one: it may be tried again
  //  busy    → refused   refuse(): not worth it, or the file has changed; also the unknown others
  enum class State : std::uint8_t { unknown, busy, ready, refused };

  EncodedCopies() = default;
  ~EncodedCopies() override;

  [[nodiscard]] State state(Coding coding) const noexcept {
    return slot(coding).state.load(std::memory_order_acquire);
  }
  // Not null if state() is `ready`.
  [[nodiscard]] const File* copy(Coding coding) const noexcept { return slot(coding).copy.get(); }

  // Returns true to the one caller that is to make the copy. It must call settle() or refuse().
  [[nodiscard]] bool claim(Coding coding) noexcept;
  // `copy` may be null. It occupies `bytes` of the budget, which are given back with it.
  void settle(Coding coding, std::unique_ptr<const File> copy, CopyBudget& budget,
              std::size_t bytes);
  // Ends the caller's claim, and all attempts with the other codings that have not begun.
  void refuse(Coding coding);
  // Waits while the copy is being made, or until the task is to stop. A thread without an event
  // loop blocks. Must outlive the task.
  [[nodiscard]] Task<void> wait(Coding coding);

 private:
  struct Slot {
    std::atomic<State> state{State::unknown};
    std::unique_ptr<const File> copy;           // written by the one that claimed it
    std::vector<Completer<void>> waiters = {};  // under the mutex
  };

  [[nodiscard]] Slot& slot(Coding coding) noexcept {
    return slots_[static_cast<std::size_t>(coding)];
  }
  [[nodiscard]] const Slot& slot(Coding coding) const noexcept {
    return slots_[static_cast<std::size_t>(coding)];
  }
  void end(Slot& slot, State state);

  std::array<Slot, coding_count> slots_;
  std::mutex mutex_;
  CopyBudget* budget_ = nullptr;  // under the mutex, as `bytes_`
  std::size_t bytes_ = 0;
};

}  // namespace h2server::content
