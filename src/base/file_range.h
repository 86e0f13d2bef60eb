// FileRange: a part of a file that the kernel can read on its own. Does not own the descriptor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace h2server::base {

struct FileRange {
  int descriptor = -1;
  std::uint64_t offset = 0;
  std::size_t size = 0;  // bytes; 0: no file
};

}  // namespace h2server::base
