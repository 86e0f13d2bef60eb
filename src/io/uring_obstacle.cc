// Why io_uring does not work on this machine.
#include <liburing.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <thread>

#include "io/uring.h"
#include "io/uring_engine.h"

namespace h2server::io {

namespace {

std::string explain(int error) {
  switch (error) {
    case EPERM:
      return "it is not allowed (a container's seccomp profile, or kernel.io_uring_disabled)";
    case ENOSYS:
      return "this kernel is built without it";
    case EINVAL:
      return "this kernel's is too old (Linux 6.1 has what is needed)";
    case ENOMEM:
      return "no memory for it (raise the limit on locked memory, ulimit -l)";
    default:
      return std::strerror(error);
  }
}

}  // namespace

std::string UringEngine::obstacle() {
  // Runs on a separate thread. The kernel closes a ring by interrupting the thread that made it, as
  // by a signal, and a blocking call of the caller's must not fail with EINTR.
  std::string found;
  try {
    std::thread([&] { found = find_obstacle(); }).join();
  } catch (const std::system_error& error) {
    found = error.what();
  }
  return found;
}

std::string uring_obstacle() { return UringEngine::obstacle(); }

Result<std::unique_ptr<Engine>> open_uring_engine() { return UringEngine::open(); }

std::string UringEngine::find_obstacle() {
  const Result<std::unique_ptr<UringEngine>> trial = open({.submissions = 8, .buffers_max = 32});
  if (!trial) return explain(trial.error().code);
  io_uring_probe* const probe = ::io_uring_get_probe_ring((*trial)->ring_.get());
  if (probe == nullptr) return explain(EINVAL);
  constexpr std::array needed{IORING_OP_ACCEPT,       IORING_OP_RECV,     IORING_OP_SENDMSG,
                              IORING_OP_ASYNC_CANCEL, IORING_OP_MSG_RING, IORING_OP_OPENAT2,
                              IORING_OP_READ,         IORING_OP_MADVISE,  IORING_OP_POLL_ADD};
  const bool has_all = std::ranges::all_of(
      needed, [probe](int code) { return ::io_uring_opcode_supported(probe, code) != 0; });
  ::io_uring_free_probe(probe);
  return has_all ? "" : explain(EINVAL);
}

}  // namespace h2server::io
