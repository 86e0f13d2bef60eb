// The memory that the server may take, by what takes it: h2server config --limits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/configuration.h"

namespace h2server::app {

struct MemoryLimit {
  std::string name;
  std::uint64_t bytes = 0;
};

// Returns the bounds for that configuration on this machine. The first is that of what clients make
// the server hold. Memory of connections, threads and code is not among them.
std::vector<MemoryLimit> memory_limits(const config::Configuration& configuration);

// Returns them as lines, with their sum and the marks of the first.
std::string memory_limits_text(const config::Configuration& configuration);

}  // namespace h2server::app
