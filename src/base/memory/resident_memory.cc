#include "base/memory/resident_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <system_error>

#include "base/fd.h"

namespace h2server::base {

// The numbers are pages: of the address space, those in memory, and those of files among them.
std::optional<ResidentMemory> resident_memory() noexcept {
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
  const std::int64_t page_bytes = ::sysconf(_SC_PAGESIZE);
  return ResidentMemory{.all = pages[1] * page_bytes, .of_files = pages[2] * page_bytes};
}

}  // namespace h2server::base
