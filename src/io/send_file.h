// A part of a file into a socket, without a copy through this process.
#pragma once

#include "base/file_range.h"

namespace h2server::io {

// The bytes that were sent, at least one; or a negative errno value. -EAGAIN: the socket is full.
// -EOPNOTSUPP: not from this file. -ENODATA: the file has no byte there any more. The socket is in
// blocking mode afterwards. Raises no signal.
[[nodiscard]] int send_file(int socket, const base::FileRange& part) noexcept;

}  // namespace h2server::io
