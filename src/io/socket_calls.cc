#include "io/socket_calls.h"

#include <sys/ioctl.h>
#include <sys/sendfile.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <span>

#include "io/engine.h"

namespace h2server::io {

namespace {

// The result must fit an int, and other connections need their turn.
constexpr std::size_t part_bytes_max = 1024 * 1024;

// sendfile() has no MSG_NOSIGNAL, so SIGPIPE is blocked on this thread and stays pending.
bool block_broken_pipe() noexcept {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  return ::pthread_sigmask(SIG_BLOCK, &signals, nullptr) == 0;
}

int call_result(int error) noexcept {
  switch (error) {
    case EINVAL:  // not supported by the file system or the kernel
    case ENOSYS:
    case ESPIPE:  // a file without offsets
      return -EOPNOTSUPP;
    default:
      // EAGAIN. ECONNRESET, EPIPE...: the peer left. EIO: the disk failed. ENOMEM, ENOBUFS: the
      // system is short of memory. All except EAGAIN end the connection.
      return -error;
  }
}

}  // namespace

int send_file(int socket, const base::FileRange& part) noexcept {
  thread_local const bool blocked = block_broken_pipe();
  if (!blocked) return -EOPNOTSUPP;
  // sendfile() has no MSG_DONTWAIT. The ioctl() calls cost 2 x 0.1 us for a part of 256 KiB.
  int waits_never = 1;
  ::ioctl(socket, FIONBIO, &waits_never);
  auto offset = static_cast<off_t>(part.offset);
  ssize_t count;
  do {
    count = ::sendfile(socket, part.descriptor, &offset, std::min(part.size, part_bytes_max));
  } while (count < 0 && errno == EINTR);
  const int error = errno;
  waits_never = 0;
  ::ioctl(socket, FIONBIO, &waits_never);
  if (count > 0) return static_cast<int>(count);
  return count == 0 ? -ENODATA : call_result(error);
}

int receive_now(Engine& engine, ReceiveOp& op) {
  op.lease = engine.borrow();
  const std::span<char> room = op.lease.room();
  ssize_t count;
  do {
    count = ::recv(op.socket->fd(), room.data(), room.size(), MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  const int error = errno;
  if (count > 0) {
    op.lease.set_size(static_cast<std::size_t>(count));
    return static_cast<int>(count);
  }
  op.lease.end();
  return count == 0 ? 0 : -error;
}

int send_now(SendOp& op) noexcept {
  if (op.file.size > 0) return send_file(op.socket->fd(), op.file);
  const int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (op.more ? MSG_MORE : 0);
  ssize_t count;
  do {
    count = ::sendmsg(op.socket->fd(), &op.message, flags);
  } while (count < 0 && errno == EINTR);
  return count < 0 ? -errno : static_cast<int>(count);
}

}  // namespace h2server::io
