#include "base/memory/freed_memory.h"

#include <malloc.h>

#include <algorithm>
#include <ctime>
#include <optional>

#include "base/clock.h"
#include "base/memory/memory_budget.h"
#include "base/memory/resident_memory.h"

namespace h2server::base {

constinit FreedMemory FreedMemory::of_process_;

namespace {

// In bytes. `unlent`: what the heap keeps, stacks and the like, which are few, and pieces that it
// could not put together. Lent memory that was not touched yet may make it negative.
struct OwnMemory {
  std::int64_t resident = 0;
  std::int64_t unlent = 0;
};

std::optional<OwnMemory> own_memory() noexcept {
  const std::optional<ResidentMemory> memory = resident_memory();
  if (!memory) return std::nullopt;
  const std::int64_t own = memory->all - memory->of_files;
  const struct mallinfo2 heap = ::mallinfo2();
  const auto lent = static_cast<std::int64_t>(heap.uordblks + heap.hblkhd);
  return OwnMemory{.resident = own, .unlent = own - lent};
}

std::int64_t thread_cpu_us() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);  // fails for invalid arguments only
  return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1000;
}

// To look through a large heap takes longer.
std::int64_t worth_giving_back(const OwnMemory& memory) noexcept {
  constexpr std::int64_t mib = 1024 * 1024;
  return std::max(mib, memory.resident / 16);
}

}  // namespace

bool FreedMemory::begin_round() noexcept {
  const std::int64_t now_ms = monotonic_ms();
  std::int64_t from_ms = round_from_ms_.load(relaxed);
  if (now_ms < from_ms || !round_from_ms_.compare_exchange_strong(from_ms, now_ms + pause_ms_)) {
    ask();
    return false;
  }
  rounds_.fetch_add(1, relaxed);
  MemoryBudget::wake_watchers();
  return true;
}

bool FreedMemory::look() noexcept {
  looked_.store(rounds(), relaxed);
  const std::int64_t begun_us = thread_cpu_us();
  const bool gave = give_back();
  const std::int64_t rest_ms = rests_ * (thread_cpu_us() - begun_us) / 1000;
  if (rest_ms > pause_ms_) round_from_ms_.store(monotonic_ms() + rest_ms, relaxed);
  return gave;
}

bool FreedMemory::give_back() noexcept {
  const std::optional<OwnMemory> before = own_memory();
  if (!before) {  // better too often than never
    ::malloc_trim(0);
    return true;
  }
  const std::int64_t least = least_unlent_.load(relaxed);
  if (before->unlent < least + worth_giving_back(*before)) {
    least_unlent_.store(std::min(before->unlent, least), relaxed);
    return false;
  }
  ::malloc_trim(0);
  least_unlent_.store(own_memory().value_or(*before).unlent, relaxed);
  return true;
}

}  // namespace h2server::base
