#include "load/connection.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>

#include "base/assert.h"

namespace h2server::lab::load {

namespace {

// Maps the errno of recv or send. Errors of the peer or the network end the connection (ECONNRESET,
// EPIPE, ETIMEDOUT, EHOSTUNREACH …), and so does lack of memory (ENOBUFS, ENOMEM).
Step step_of_errno(int code) noexcept {
  if (code == EAGAIN) return Step::would_block;
  ASSERT(code != EBADF && code != EFAULT && code != EINVAL && code != ENOTCONN && code != ENOTSOCK);
  return Step::failed;
}

}  // namespace

Result<void> Connection::open(Target& target, const TlsContext* tls) {
  tls_.reset();
  out_.clear();
  connected_ = peer_ended_ = false;
  in_ = sent_ = 0;
  Result<base::Fd> made = target.connect();
  if (!made) return std::unexpected(made.error());
  socket_ = std::move(*made);
  if (tls != nullptr) tls_.emplace(*tls, socket_.get());
  return {};
}

Step Connection::establish(ErrorKind& failure) noexcept {
  if (!connected_) {
    int code = 0;
    socklen_t size = sizeof code;
    const int asked = ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &code, &size);
    ASSERT(asked == 0);
    failure = ErrorKind::connect;
    if (code != 0) return Step::failed;
    connected_ = true;
  }
  if (!tls_) return Step::done;
  const Step step = tls_->handshake();
  failure = ErrorKind::tls;
  return step == Step::ended ? Step::failed : step;
}

Transfer Connection::read(std::span<char> room) noexcept {
  if (tls_) {
    const Transfer got = tls_->read(room);
    peer_ended_ = peer_ended_ || got.step == Step::ended;
    return got;
  }
  ssize_t size = 0;
  do {
    size = ::recv(socket_.get(), room.data(), room.size(), 0);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return {step_of_errno(errno), 0};
  if (size == 0) {
    peer_ended_ = true;
    return {Step::ended, 0};
  }
  in_ += static_cast<std::uint64_t>(size);
  // After a short read the socket is empty (epoll(7), edge-triggered events).
  return {Step::done, static_cast<std::size_t>(size), static_cast<std::size_t>(size) < room.size()};
}

Transfer Connection::send() noexcept {
  if (tls_) return tls_->write(out_.front());
  std::array<iovec, 16> pieces;  // 1 MiB of an upload: more than a socket takes at once
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = out_.gather(pieces);
  ssize_t size = 0;
  do {
    size = message.msg_iovlen == 1
               ? ::send(socket_.get(), pieces[0].iov_base, pieces[0].iov_len, MSG_NOSIGNAL)
               : ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return {step_of_errno(errno), 0};
  sent_ += static_cast<std::uint64_t>(size);
  return {Step::done, static_cast<std::size_t>(size)};
}

Step Connection::flush() {
  while (!out_.empty()) {
    const Transfer sent = send();
    if (sent.step != Step::done) return sent.step;
    out_.consume(sent.size);
  }
  return Step::done;
}

void Connection::close(bool reset) noexcept {
  if (!socket_.valid()) return;
  if (tls_ && !reset && !peer_ended_) tls_->finish();
  if (reset) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    // If this fails, the connection closes normally.
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  out_.clear();
  socket_.close();
}

}  // namespace h2server::lab::load
