#include "observe/log_ring.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "base/assert.h"
#include "base/fd.h"

namespace h2server::observe {

namespace {
// Maps `bytes` of new memory twice, one after the other. Returns null and sets errno on failure.
char* map_twice(std::size_t bytes) noexcept {
  const base::Fd memory(::memfd_create("h2server log", MFD_CLOEXEC));
  if (!memory.valid() || ::ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0) return nullptr;
  void* const place =
      ::mmap(nullptr, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return nullptr;
  char* const first = static_cast<char*>(place);
  for (char* const half : {first, first + bytes}) {
    if (::mmap(half, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory.get(), 0) ==
        MAP_FAILED) {
      const int code = errno;
      ::munmap(first, 2 * bytes);
      errno = code;
      return nullptr;
    }
  }
  return first;
}
}  // namespace

Result<std::unique_ptr<LogRing>> LogRing::make(Sharing sharing, LogBell& bell, std::size_t bytes) {
  ASSERT(std::has_single_bit(bytes) && bytes % static_cast<std::size_t>(::getpagesize()) == 0);
  char* const memory = map_twice(bytes);
  if (memory == nullptr) return std::unexpected(Error{errno, "cannot map memory for the log"});
  struct Made : LogRing {
    Made(Sharing s, LogBell& b, char* m, std::size_t c) : LogRing(s, b, m, c) {}
  };
  return std::make_unique<Made>(sharing, bell, memory, bytes);
}

LogRing::LogRing(Sharing sharing, LogBell& bell, char* memory, std::size_t capacity)
    : sharing_(sharing),
      memory_(memory),
      capacity_(capacity),
      urgent_bytes_(std::min(capacity / 2, wake_bytes)),
      turns_(std::make_unique_for_overwrite<Turn[]>(turns_max)),
      bell_(bell) {}

LogRing::~LogRing() { ::munmap(memory_, 2 * capacity_); }

bool LogRing::make_room(std::size_t bytes_max) noexcept {
  head_seen_ = head_.load(std::memory_order_acquire);
  const std::size_t used = tail_.load(std::memory_order_relaxed) - head_seen_;
  return bytes_max <= capacity_ && used <= capacity_ - bytes_max;
}

bool LogRing::turn_to(std::uint32_t target) noexcept {
  const std::uint64_t made = turns_made_.load(std::memory_order_relaxed);
  if (turns_left() == 0) return false;
  turns_[made % turns_max] = {tail_.load(std::memory_order_relaxed), target};
  // The reader sees it with the bytes that follow: commit() releases both.
  turns_made_.store(made + 1, std::memory_order_release);
  target_ = target;
  return true;
}

void LogRing::wake(LogBell::Sleep sleep) noexcept {
  if (sleep == LogBell::Sleep::light) {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_seen_ >= urgent_bytes_) head_seen_ = head_.load(std::memory_order_acquire);
    if (tail - head_seen_ < urgent_bytes_ && turns_left() > turns_max / 2) return;
  }
  bell_.ring();
}

std::size_t LogRing::turns_left() const noexcept {
  const std::uint64_t taken = turns_taken_.load(std::memory_order_acquire);
  return turns_max - (turns_made_.load(std::memory_order_relaxed) - taken);
}

bool LogRing::is_urgent() const noexcept {
  return size() >= urgent_bytes_ || turns_left() <= turns_max / 2;
}

LogRing::Batch LogRing::front() noexcept {
  const std::uint64_t head = head_.load(std::memory_order_relaxed);
  std::uint64_t end = tail_.load(std::memory_order_acquire);
  if (head == end) return {};
  std::uint64_t taken = turns_taken_.load(std::memory_order_relaxed);
  const std::uint64_t made = turns_made_.load(std::memory_order_acquire);
  for (; taken != made; ++taken) {
    const Turn& turn = turns_[taken % turns_max];
    if (turn.position > head) {
      if (turn.position < end) end = turn.position;
      break;
    }
    front_target_ = turn.target;
  }
  turns_taken_.store(taken, std::memory_order_release);
  return {front_target_, {memory_ + (head & (capacity_ - 1)), end - head}};
}

void LogRing::pop(std::size_t bytes) noexcept {
  head_.store(head_.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
}

std::size_t LogRing::size() const noexcept {
  const std::uint64_t head = head_.load(std::memory_order_acquire);
  return tail_.load(std::memory_order_acquire) - head;
}

}  // namespace h2server::observe
