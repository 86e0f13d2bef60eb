// Reads and writes files as a whole.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "h2server/result.h"

namespace h2server::file {

// Returns the bytes of a regular file of at most `bytes_max`. The error is an errno value: ENOTSUP
// for what is no regular file, EFBIG for a larger one, otherwise that of the call that failed.
// Blocks on the disk, but not on a FIFO without a writer.
Result<std::string, int> read_whole_file(const std::string& path, std::size_t bytes_max);

// Writes all bytes at the descriptor's offset. The error is an errno value: ENOSPC, EDQUOT, EFBIG,
// EIO. Blocks on the disk.
Result<void, int> write_all(int file, std::string_view bytes);

}  // namespace h2server::file
