// What the kernel tells of this process, for metrics.
#pragma once

#include <cstdint>

namespace h2server::server {

struct ProcessNumbers {
  std::uint64_t resident_bytes = 0;
  std::uint64_t descriptors = 0;
  std::uint64_t descriptors_max = 0;
  double cpu_s = 0;  // user and system
  double started_unix_s = 0;
};

// Numbers that can't be found out, as without /proc, are 0.
[[nodiscard]] ProcessNumbers process_numbers();

}  // namespace h2server::server
