// A TCP connection as a Stream.
#pragma once

#include "net/stream.h"

namespace h2server::net {

class TcpStream final : public Stream {
 public:
  TcpStream(io::Engine& engine, base::Fd connection) noexcept
      : socket_(engine, std::move(connection)) {}

  Read read(std::uint32_t timeout_ms) override { return {socket_, timeout_ms}; }
  Task<Result<void>> write(base::BufferChain& bytes, std::uint32_t timeout_ms) override;
  Task<void> finish(std::uint32_t timeout_ms) override;
  bool closing_finishes() const noexcept override { return true; }
  void cancel_read() override;
  bool bytes_go_to_kernel() const noexcept override { return true; }
  io::Engine& engine() const noexcept override { return socket_.engine(); }
  void move_to(io::Engine& engine) noexcept override { socket_.move_to(engine); }

  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }

 private:
  io::Socket socket_;
};

}  // namespace h2server::net
