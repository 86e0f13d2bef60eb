// LogRing: a bounded queue of whole lines from a worker to the log's thread.
//
// The worker formats lines straight into it: no lock, no allocation, no copy, and no system call
// unless the log's thread sleeps. A line that finds no room is dropped and counted; the worker
// never waits. Lines for one target that follow each other are contiguous bytes, so that the log's
// thread writes them with one call. The ring's memory is mapped twice in a row: there is no edge.
// Pages that were never used take no memory.
//
// The LogWriter owns it. It outlives the workers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/counter.h"
#include "h2server/result.h"
#include "observe/log_bell.h"

namespace h2server::observe {

class LogRing {
 public:
  enum class Sharing : std::uint8_t {
    one_thread,    // append() is called by one thread at a time, without a lock
    many_threads,  // append() takes a lock
  };
  // Ten milliseconds at 700,000 lines of JSON a second, while another thread has the processor.
  static constexpr std::size_t bytes_default = std::size_t{4} << 20;
  // So many bytes wake the log's thread. It takes about a thousand lines at a time.
  static constexpr std::size_t wake_bytes = std::size_t{512} << 10;

  // `bytes`: a power of two, and of pages.
  static Result<std::unique_ptr<LogRing>> make(Sharing sharing, LogBell& bell,
                                               std::size_t bytes = bytes_default);
  LogRing(const LogRing&) = delete;
  LogRing& operator=(const LogRing&) = delete;
  ~LogRing();

  // Workers. Calls `write(char* to)`, which writes whole lines of at most `bytes_max` bytes and
  // returns their size. Returns false, without that call, if there is no room: the line is dropped.
  template <class Write>
  bool append(std::size_t bytes_max, std::uint32_t target, Write&& write) {
    if (sharing_ == Sharing::one_thread) return append_unlocked(bytes_max, target, write);
    const std::scoped_lock lock(mutex_);
    return append_unlocked(bytes_max, target, write);
  }

  // What lies at the front: bytes for one target.
  struct Batch {
    std::uint32_t target = 0;
    std::string_view lines;
  };
  // The log's thread. Returns no lines if the ring is empty.
  [[nodiscard]] Batch front() noexcept;
  // The log's thread: frees the first `bytes` of front().
  void pop(std::size_t bytes) noexcept;

  // Any thread.
  [[nodiscard]] std::size_t size() const noexcept;
  // Returns true if there is enough to wake the log's thread.
  [[nodiscard]] bool is_urgent() const noexcept;
  [[nodiscard]] std::uint64_t accepted() const noexcept { return accepted_.get(); }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_.get(); }

 private:
  // From this position on, lines are for this target.
  struct Turn {
    std::uint64_t position;
    std::uint32_t target;
  };
  static constexpr std::size_t turns_max = 4096;  // a ring of lines for ever changing targets
  static constexpr std::size_t cache_line = 64;

  LogRing(Sharing sharing, LogBell& bell, char* memory, std::size_t capacity);

  template <class Write>
  bool append_unlocked(std::size_t bytes_max, std::uint32_t target, Write&& write) {
    char* const to = reserve(bytes_max, target);
    if (to == nullptr) [[unlikely]] {
      dropped_.up();
      return false;
    }
    commit(write(to));
    return true;
  }

  char* reserve(std::size_t bytes_max, std::uint32_t target) noexcept {
    if (tail_.load(std::memory_order_relaxed) - head_seen_ > capacity_ - bytes_max ||
        bytes_max > capacity_) [[unlikely]] {
      if (!make_room(bytes_max)) return nullptr;
    }
    if (target != target_) [[unlikely]] {
      if (!turn_to(target)) return nullptr;
    }
    return memory_ + (tail_.load(std::memory_order_relaxed) & (capacity_ - 1));
  }

  void commit(std::size_t bytes) noexcept {
    tail_.store(tail_.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
    accepted_.up();
    const LogBell::Sleep sleep = bell_.sleep();
    if (sleep != LogBell::Sleep::none) [[unlikely]]
      wake(sleep);
  }

  bool make_room(std::size_t bytes_max) noexcept;
  bool turn_to(std::uint32_t target) noexcept;
  void wake(LogBell::Sleep sleep) noexcept;
  [[nodiscard]] std::size_t turns_left() const noexcept;

  const Sharing sharing_;
  char* const memory_;  // capacity_ bytes, mapped twice
  const std::size_t capacity_;
  const std::size_t urgent_bytes_;
  const std::unique_ptr<Turn[]> turns_;
  LogBell& bell_;
  std::mutex mutex_;

  alignas(cache_line) std::atomic<std::uint64_t> tail_{0};  // written by the worker, as those below
  std::uint64_t head_seen_ = 0;
  std::uint32_t target_ = 0;
  base::Counter accepted_;
  base::Counter dropped_;
  std::atomic<std::uint64_t> turns_made_{0};

  alignas(cache_line) std::atomic<std::uint64_t> head_{0};  // written by the log's thread
  std::atomic<std::uint64_t> turns_taken_{0};
  std::uint32_t front_target_ = 0;
};

}  // namespace h2server::observe
