// In place of the other uring_*.cc in a build without liburing.
#include <cerrno>

#include "io/uring.h"

namespace h2server::io {

std::string uring_obstacle() { return "this build was made without H2SERVER_IO_URING"; }

Result<std::unique_ptr<Engine>> open_uring_engine() {
  return std::unexpected(Error{ENOSYS, "this build was made without H2SERVER_IO_URING"});
}

}  // namespace h2server::io
