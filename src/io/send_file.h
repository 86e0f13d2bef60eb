// Sends a part of a file to a socket, without a copy through this process.
#pragma once

#include "base/file_range.h"

namespace h2server::io {

// Returns the number of bytes sent, at least one, or a negative errno value. -EAGAIN: the socket is
// full. -EOPNOTSUPP: not possible with this file. -ENODATA: the file has no bytes there any more.
// Leaves the socket in blocking mode. Raises no signal.
[[nodiscard]] int send_file(int socket, const base::FileRange& part) noexcept;

}  // namespace h2server::io
