// Opens what an archive may contain: folders, regular files, and links to regular files.
//
// Everything is opened beneath a directory (file/open_beneath.h), and nothing blocks on what is not
// a file. May block on the disk. Any thread. Errors are errno values.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "h2server/result.h"

namespace h2server::content {

struct OpenedEntry {
  enum class Kind : std::uint8_t { file, directory, other };

  Kind kind = Kind::other;
  base::Fd descriptor = {};  // to read; not valid if it is something else
  struct stat status = {};   // of the descriptor; of a link, that of its target
};

// Opens the folder `path`, also through links. `root` is an open directory, as below.
Result<OpenedEntry, int> open_folder(int root, const std::string& path);

// Opens the entry `path`. Something else is a link to a folder, a link that leads nowhere or out of
// `root`, a socket, a FIFO or a device; they are not opened.
Result<OpenedEntry, int> open_entry(int root, const std::string& path);

// Returns true if this error concerns the entry alone: it may not be read, or has vanished. Others
// are the system's.
bool is_left_out(int code) noexcept;

}  // namespace h2server::content
