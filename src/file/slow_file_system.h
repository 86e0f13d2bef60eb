// File systems whose files are on another machine or in another process: NFS, CIFS, FUSE and
// others. There, fstat(), open(), mmap() and close() may wait as long as a read, even for an open
// file, so an event loop makes none of them; file/folder.h and file/content.h say where they are
// made.
#pragma once

#include <cstdint>

namespace h2server::file {

// Returns true if calls on the file system of an open file may wait, or if it can't be asked. Asks
// the file system, which may wait for that, too.
[[nodiscard]] bool may_wait(int descriptor) noexcept;

// The same by its type, which is `f_type` of statfs(2).
[[nodiscard]] bool type_may_wait(std::uint32_t type) noexcept;

}  // namespace h2server::file
