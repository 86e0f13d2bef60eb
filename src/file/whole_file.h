// Reads a file of settings as a whole.
#pragma once

#include <cstddef>
#include <string>

#include "h2server/result.h"

namespace h2server::file {

// Returns the bytes of a regular file of at most `bytes_max`. The error is an errno value: ENOTSUP
// for what is no regular file, EFBIG for a larger one, otherwise that of the call that failed.
// Blocks on the disk, but not on a FIFO without a writer.
Result<std::string, int> read_whole_file(const std::string& path, std::size_t bytes_max);

}  // namespace h2server::file
