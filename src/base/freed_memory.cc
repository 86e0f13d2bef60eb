#include "base/freed_memory.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"

namespace h2server::base {

constinit FreedMemory FreedMemory::of_process_;

namespace {

// Returns the bytes in memory that are of no file, by proc(5), /proc/self/statm: the second number
// is that of resident pages, the third that of those of files. Empty without a descriptor or /proc.
std::optional<std::int64_t> own_bytes() noexcept {
  const Fd file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  std::array<char, 128> text;
  const ssize_t read = ::read(file.get(), text.data(), text.size());
  if (read <= 0) return std::nullopt;
  const char* at = text.data();
  const char* const end = at + read;
  std::array<std::int64_t, 3> pages{};
  for (std::int64_t& number : pages) {
    const auto [rest, error] = std::from_chars(at, end, number);
    if (error != std::errc() || rest == end) return std::nullopt;
    at = rest + 1;
  }
  const auto [total, resident, of_files] = pages;
  return (resident - of_files) * ::sysconf(_SC_PAGESIZE);
}

// In bytes. `unlent`: what the heap keeps, stacks and the like, which are few, and pieces that it
// could not put together. Lent memory that was not touched yet may make it negative.
struct OwnMemory {
  std::int64_t resident = 0;
  std::int64_t unlent = 0;
};

std::optional<OwnMemory> own_memory() noexcept {
  const std::optional<std::int64_t> resident = own_bytes();
  if (!resident) return std::nullopt;
  const struct mallinfo2 heap = ::mallinfo2();
  const auto lent = static_cast<std::int64_t>(heap.uordblks + heap.hblkhd);
  return OwnMemory{.resident = *resident, .unlent = *resident - lent};
}

// To look through a large heap takes longer.
std::int64_t worth_giving_back(const OwnMemory& memory) noexcept {
  constexpr std::int64_t mib = 1024 * 1024;
  return std::max(mib, memory.resident / 16);
}

}  // namespace

bool FreedMemory::look() noexcept {
  const std::int64_t now_ms = monotonic_ms();
  std::int64_t from_ms = look_from_ms_.load(relaxed);
  if (now_ms < from_ms || !look_from_ms_.compare_exchange_strong(from_ms, now_ms + pause_ms_)) {
    ask();
    return false;
  }
  const std::optional<OwnMemory> before = own_memory();
  if (!before) return false;
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
