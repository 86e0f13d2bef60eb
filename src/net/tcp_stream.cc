#include "net/tcp_stream.h"

#include <sys/socket.h>

#include <array>

namespace h2server::net {

Task<Result<void>> TcpStream::write(base::BufferChain& bytes, std::uint32_t timeout_ms) {
  std::array<iovec, 32> pieces;
  while (!bytes.empty()) {
    const std::size_t count = bytes.gather(pieces);
    io::SendOp send(socket_, std::span(pieces).first(count), timeout_ms);
    const Result<std::size_t> sent = co_await send;
    if (!sent) co_return std::unexpected(sent.error());
    bytes.consume(*sent);
  }
  co_return {};
}

Task<void> TcpStream::finish(std::uint32_t) {
  // ENOTCONN: the peer has reset the connection already.
  ::shutdown(socket_.fd(), SHUT_WR);
  co_return;
}

void TcpStream::cancel_read() {
  if (io::Op* const receive = socket_.state.reader) receive->cancel();
}

}  // namespace h2server::net
