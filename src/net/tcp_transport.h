// TcpTransport: a TCP connection, or one of a Unix socket, as a Transport.
#pragma once

#include "net/socket_address.h"
#include "net/transport.h"

namespace h2server::net {

class TcpTransport final : public Transport {
 public:
  TcpTransport(io::Engine& engine, base::Fd connection) noexcept
      : socket_(engine, std::move(connection)) {}

  Read read(std::uint32_t timeout_ms) override { return {socket_, timeout_ms}; }
  Task<Result<void>> write(base::BufferChain& bytes, base::Pace& pace) override;
  Task<void> finish(std::uint32_t timeout_ms) override;
  bool has_unread() const noexcept override;
  Task<bool> acknowledged(std::size_t bytes_left, std::uint32_t timeout_ms) override;
  void cancel_read() override;
  void cancel_write() override;
  bool bytes_go_to_kernel() const noexcept override { return true; }
  io::Engine& engine() const noexcept override { return socket_.engine(); }
  void move_to(io::Engine& engine) noexcept override { socket_.move_to(engine); }
  Address client() const override { return peer_address(fd()); }
  Address server() const override { return local_address(fd()); }

  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }

 private:
  template <std::size_t count_max>
  Task<Result<void>> write_pieces(base::BufferChain& bytes, base::Pace& pace);

  io::Socket socket_;
  bool sends_files_ = true;  // sends from file descriptors, if the engine can
};

}  // namespace h2server::net
