// A part of a file, for whoever can have the kernel read it. It owns nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace h2server::base {

struct FileRange {
  int descriptor = -1;
  std::uint64_t offset = 0;
  std::size_t size = 0;  // bytes; 0: no part of any file
};

}  // namespace h2server::base
