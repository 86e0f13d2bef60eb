// MemoryBudget: the memory that clients make the process hold, counted by what it is for. One for
// the process; any thread.
//
// It counts what grows with what clients send or do not read. Caches are not counted, which have
// bounds of their own, nor are connections, whose number is bounded. Above a first mark, memory is
// tight: costly new work is refused. Above a second mark, the clients that hold most are cut off
// (server/memory_guard.h). Blocks are counted when they are allocated and freed, so a request that
// reuses them costs nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace h2server::base {

enum class MemoryOwner : std::uint8_t {
  requests,   // heads, and what handlers keep of a request
  buffers,    // output that is not sent, content that is not read
  receiving,  // buffers that were lent to connections, and spare ones
  bodies,     // responses in memory that wait for their client
  listings,   // lists of folders that no cache holds, their orders, WebDAV's answers
  coding,     // encoders
  archives,   // names of folders on the way, a zip's directory
  uploads,    // bytes and parts that are not written
};
inline constexpr std::size_t memory_owners = 8;

// Returns "requests" and so on.
[[nodiscard]] std::string_view name_of(MemoryOwner owner) noexcept;

// Is called when a mark is passed, on the thread that passes it, and when the reserves are to be
// freed (base/memory/freed_memory.h).
class MemoryWatcher {
 public:
  MemoryWatcher() = default;
  MemoryWatcher(const MemoryWatcher&) = delete;
  MemoryWatcher& operator=(const MemoryWatcher&) = delete;
  virtual void memory_needs_care() noexcept = 0;

 protected:
  virtual ~MemoryWatcher() = default;

 private:
  friend class MemoryBudget;
  MemoryWatcher* next_ = nullptr;
};

class MemoryBudget {
 public:
  static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

  static MemoryBudget& of_process() noexcept { return of_process_; }

  // Without a limit.
  constexpr MemoryBudget() noexcept = default;
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // The marks are at a half and at three quarters of it, in bytes.
  void set_limit(std::uint64_t bytes) noexcept;
  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_.load(relaxed); }
  // Returns `usual`, or a part of the limit if that is less: the bound of a cache.
  [[nodiscard]] std::uint64_t at_most(std::uint64_t usual, unsigned parts) const noexcept {
    const std::uint64_t share = limit() / parts;
    return usual < share ? usual : share;
  }

  void charge(MemoryOwner owner, std::size_t bytes) noexcept {
    owners_[static_cast<std::size_t>(owner)].fetch_add(bytes, relaxed);
    const std::uint64_t before = held_.fetch_add(bytes, relaxed);
    if (before + bytes >= tight_.load(relaxed)) check_marks(before, before + bytes);
  }
  void discharge(MemoryOwner owner, std::size_t bytes) noexcept {
    owners_[static_cast<std::size_t>(owner)].fetch_sub(bytes, relaxed);
    held_.fetch_sub(bytes, relaxed);
  }

  [[nodiscard]] std::uint64_t held() const noexcept { return held_.load(relaxed); }
  [[nodiscard]] std::uint64_t held(MemoryOwner owner) const noexcept {
    return owners_[static_cast<std::size_t>(owner)].load(relaxed);
  }
  [[nodiscard]] bool tight() const noexcept { return held() >= tight_.load(relaxed); }
  [[nodiscard]] bool critical() const noexcept { return held() >= critical_.load(relaxed); }
  [[nodiscard]] bool full() const noexcept { return held() >= limit(); }
  // Returns true from the first mark on until end_shortage().
  [[nodiscard]] bool is_short() const noexcept { return short_.load(relaxed); }
  // Returns true, once for each shortage, when an eighth of the limit is held or less.
  [[nodiscard]] bool end_shortage() noexcept;

  // What it has led to, since the start of the process.
  void count_refused() noexcept { refused_.fetch_add(1, relaxed); }
  void count_cut_off() noexcept { cut_off_.fetch_add(1, relaxed); }
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_.load(relaxed); }
  [[nodiscard]] std::uint64_t cut_off() const noexcept { return cut_off_.load(relaxed); }

  // Of all budgets: there is one but for tests.
  static void add(MemoryWatcher& watcher) noexcept;
  // `watcher` is not called any more once this has returned.
  static void remove(MemoryWatcher& watcher) noexcept;
  static void wake_watchers() noexcept;

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;

  void check_marks(std::uint64_t before, std::uint64_t after) noexcept;
  static void reset_in_child() noexcept;

  static MemoryBudget of_process_;

  std::array<std::atomic<std::uint64_t>, memory_owners> owners_{};
  std::atomic<std::uint64_t> held_{0};  // the sum
  std::atomic<std::uint64_t> limit_{no_limit};
  std::atomic<std::uint64_t> tight_{no_limit};
  std::atomic<std::uint64_t> critical_{no_limit};
  std::atomic<bool> short_{false};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> cut_off_{0};
};

// MemoryCharge: what one object holds. Moved with it.
class MemoryCharge {
 public:
  explicit MemoryCharge(MemoryOwner owner) noexcept : owner_(owner) {}
  MemoryCharge(MemoryCharge&& other) noexcept
      : owner_(other.owner_), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryCharge& operator=(MemoryCharge&& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryCharge() { set(0); }

  void set(std::size_t bytes) noexcept {
    if (bytes > bytes_) MemoryBudget::of_process().charge(owner_, bytes - bytes_);
    if (bytes < bytes_) MemoryBudget::of_process().discharge(owner_, bytes_ - bytes);
    bytes_ = bytes;
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  MemoryOwner owner_;
  std::size_t bytes_ = 0;
};

}  // namespace h2server::base
