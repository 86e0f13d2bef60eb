#include "net/tcp_transport.h"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace h2server::net {

namespace {
constexpr std::size_t few_pieces = 2;
constexpr std::size_t many_pieces = 32;
}  // namespace

// Thousands of writes may wait, most of them for few pieces: their frames are small.
Task<Result<void>> TcpTransport::write(base::BufferChain& bytes, base::Pace& pace) {
  return bytes.pieces() <= few_pieces ? write_pieces<few_pieces>(bytes, pace)
                                      : write_pieces<many_pieces>(bytes, pace);
}

template <std::size_t count_max>
Task<Result<void>> TcpTransport::write_pieces(base::BufferChain& bytes, base::Pace& pace) {
  std::array<iovec, count_max> pieces;
  while (!bytes.empty()) {
    if (count_max == few_pieces && bytes.pieces() > count_max) {  // some were added meanwhile
      const Result<void> written = co_await write_pieces<many_pieces>(bytes, pace);
      co_return written;
    }
    const bool by_file = sends_files_ && socket_.engine().sends_files();
    const std::size_t count = by_file ? bytes.gather_before_file(pieces) : bytes.gather(pieces);
    const std::int64_t from_ms = engine().now_ms();
    io::SendOp send(socket_, std::span(pieces).first(count), pace.left_ms());
    if (by_file && count == 0) send.file = bytes.front_file();
    send.more = by_file && count > 0 && count < bytes.pieces();
    const Result<std::size_t> sent = co_await send;
    if (!sent && sent.error().code == EOPNOTSUPP && send.file.size > 0) {
      sends_files_ = false;  // the mapping has the same bytes
      continue;
    }
    if (!sent) co_return std::unexpected(sent.error());
    bytes.consume(*sent);
    const bool in_time = pace.moved(engine().now_ms() - from_ms, *sent);
    if (!in_time && !bytes.empty()) co_return std::unexpected(Error{ETIMEDOUT, "send"});
  }
  co_return {};
}

// Polls, because nothing notifies of acknowledgements. Usually there is nothing to wait for: enough
// bytes follow those of a file that may change (see file::PartSender).
Task<bool> TcpTransport::acknowledged(std::size_t bytes_left, std::uint32_t timeout_ms) {
  constexpr std::uint32_t pause_ms = 1;  // rounded up to the timers' precision
  std::int64_t until_ms = engine().now_ms() + timeout_ms;
  int least = -1;
  for (;;) {
    int left = 0;
    // Fails if the socket is no connection.
    if (::ioctl(socket_.fd(), SIOCOUTQ, &left) != 0) co_return false;
    if (static_cast<std::size_t>(left) <= bytes_left) co_return true;
    pollfd state{.fd = socket_.fd(), .events = 0, .revents = 0};
    if (::poll(&state, 1, 0) > 0) co_return false;  // reset, or timed out
    const std::int64_t now_ms = engine().now_ms();
    if (least < 0 || left < least) until_ms = now_ms + timeout_ms;
    least = left;
    if (now_ms >= until_ms) co_return false;
    io::SleepOp sleep(engine(), pause_ms);
    const bool slept = co_await sleep;
    if (!slept) co_return false;
  }
}

Task<Result<void>> TcpTransport::read_proxy_header(std::uint32_t timeout_ms) {
  const std::int64_t until_ms = engine().now_ms() + timeout_ms;
  std::string received;
  for (;;) {
    const std::int64_t left_ms = until_ms - engine().now_ms();
    if (left_ms <= 0) co_return std::unexpected(Error{ETIMEDOUT, "PROXY protocol"});
    Result<io::Lease> lease = co_await read(static_cast<std::uint32_t>(left_ms));
    if (!lease) co_return std::unexpected(lease.error());
    if (lease->empty()) co_return std::unexpected(Error{ECONNRESET, "PROXY protocol"});
    received += lease->bytes();
    ProxyHeader header = parse_proxy_header(received);
    if (header.verdict == ProxyHeader::Verdict::malformed) {
      co_return std::unexpected(Error{EPROTO, "PROXY protocol"});
    }
    if (header.verdict == ProxyHeader::Verdict::need_more) continue;
    opening_ = std::make_unique<Opening>(received.substr(header.size), std::move(header.addresses));
    co_return {};
  }
}

// A lease has room for what one receive brings, which may be less than came with a header.
Task<Result<io::Lease>> TcpTransport::take_early() {
  io::Lease lease = engine().borrow();
  std::string& early = opening_->early;
  const std::size_t size = std::min(lease.room().size(), early.size());
  early.copy(lease.room().data(), size);
  lease.set_size(size);
  early = early.substr(size);
  co_return std::move(lease);
}

bool TcpTransport::has_unread() const noexcept {
  if (opening_ != nullptr && !opening_->early.empty()) return true;
  int bytes = 0;
  return ::ioctl(socket_.fd(), FIONREAD, &bytes) == 0 && bytes > 0;
}

Task<void> TcpTransport::finish(std::uint32_t) {
  // ENOTCONN: the peer has reset the connection already.
  ::shutdown(socket_.fd(), SHUT_WR);
  co_return;
}

void TcpTransport::cancel_read() {
  if (io::Op* const receive = socket_.state.reader) receive->cancel();
}

void TcpTransport::cancel_write() {
  if (io::Op* const send = socket_.state.writer) send->cancel();
}

// ENOTCONN: the peer has reset the connection already.
void TcpTransport::break_off() noexcept { ::shutdown(socket_.fd(), SHUT_RDWR); }

}  // namespace h2server::net
