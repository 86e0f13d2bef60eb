// Excludes other servers from a folder for as long as the descriptor is open.
#pragma once

#include <string>

#include "base/fd.h"

namespace h2server::net {

// Locks the folder of `file`. The lock ends with the process. Returns an invalid descriptor if
// there is no such folder. If a folder can't be locked (some network file systems), servers must
// not start at the same time.
base::Fd lock_folder_of(const std::string& file);

}  // namespace h2server::net
