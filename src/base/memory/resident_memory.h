// What the kernel says of the process's own memory.
#pragma once

#include <cstdint>
#include <optional>

namespace h2server::base {

// In bytes.
struct ResidentMemory {
  std::int64_t all = 0;
  std::int64_t of_files = 0;  // that are mapped, such as the program itself, and shared memory
};

// By proc(5), /proc/self/statm. Empty without a descriptor or /proc.
[[nodiscard]] std::optional<ResidentMemory> resident_memory() noexcept;

}  // namespace h2server::base
