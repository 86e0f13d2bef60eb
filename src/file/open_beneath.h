// Opens paths that a client named, without leaving a directory.
#pragma once

#include <string_view>

#include "base/fd.h"
#include "h2server/result.h"
#include "h2server/task.h"
#include "io/engine.h"

namespace h2server::file {

// As openat(2) with O_CLOEXEC and, unless it is O_PATH, O_NONBLOCK (a FIFO must not block the
// worker), but neither ".." nor a link leads out of `directory`. Leading slashes are dropped; an
// empty path is the directory. The error is an errno value; ENOENT also stands for a path that
// would lead outside. Without an engine the caller waits for the disk.
//
// With an engine, EXDEV stands for a path that leads to another mount or outside: only
// open_beneath_now() may open it, on a thread. `directory` must not be on a slow file system
// (file/slow_file_system.h).
Task<Result<base::Fd, int>> open_beneath(io::Engine* engine, int directory, std::string_view path,
                                         int flags);

// The same, but the calling thread waits for the disk.
Result<base::Fd, int> open_beneath_now(int directory, std::string_view path, int flags);

// Whether this kernel has what it takes (Linux 5.6); 0 or an errno value.
int probe_open_beneath() noexcept;

}  // namespace h2server::file
