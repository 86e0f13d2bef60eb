#include "net/tcp_stream.h"

#include <sys/socket.h>

#include <array>

namespace h2server::net {

Task<Result<io::Lease>> TcpStream::read(std::uint32_t timeout_ms) {
  io::ReceiveOp receive(socket_, timeout_ms);
  receiving_ = &receive;
  Result<io::Lease> lease = co_await receive;
  receiving_ = nullptr;
  co_return std::move(lease);
}

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
  if (receiving_ != nullptr) receiving_->cancel();
}

}  // namespace h2server::net
