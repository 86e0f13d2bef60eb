// TcpTransport: a TCP connection, or one of a Unix socket, as a Transport.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "net/proxy_header.h"
#include "net/socket_address.h"
#include "net/transport.h"

namespace h2server::net {

class TcpTransport final : public Transport {
 public:
  TcpTransport(io::Engine& engine, base::Fd connection) noexcept
      : socket_(engine, std::move(connection)) {}

  // Takes the header of the PROXY protocol, before any other call. Fails with EPROTO if the
  // connection begins otherwise, with ETIMEDOUT if the header takes longer.
  Task<Result<void>> read_proxy_header(std::uint32_t timeout_ms);
  // The listener that accepted the connection, see ConnectionInfo.
  void set_listener(unsigned listener) noexcept { listener_ = listener; }

  Read read(std::uint32_t timeout_ms) override {
    if (opening_ != nullptr && !opening_->early.empty()) return take_early();
    return {socket_, timeout_ms};
  }
  Task<Result<void>> write(base::BufferChain& bytes, base::Pace& pace) override;
  Task<void> finish(std::uint32_t timeout_ms) override;
  bool has_unread() const noexcept override;
  Task<bool> acknowledged(std::size_t bytes_left, std::uint32_t timeout_ms) override;
  void cancel_read() override;
  void cancel_write() override;
  void break_off() noexcept override;
  bool bytes_go_to_kernel() const noexcept override { return true; }
  io::Engine& engine() const noexcept override { return socket_.engine(); }
  void move_to(io::Engine& engine) noexcept override { socket_.move_to(engine); }
  Address client() const override {
    const bool proxied = opening_ != nullptr && opening_->addresses;
    return proxied ? opening_->addresses->client : peer_address(fd());
  }
  Address server() const override {
    const bool proxied = opening_ != nullptr && opening_->addresses;
    return proxied ? opening_->addresses->server : local_address(fd());
  }
  bool is_unix_socket() const override { return net::is_unix_socket(fd()); }
  unsigned listener() const noexcept override { return listener_; }

  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }

 private:
  template <std::size_t count_max>
  Task<Result<void>> write_pieces(base::BufferChain& bytes, base::Pace& pace);

  Task<Result<io::Lease>> take_early();

  // What came with the header of the PROXY protocol.
  struct Opening {
    std::string early;                          // received behind it and not read yet
    std::optional<ProxiedAddresses> addresses;  // nullopt: those of the socket
  };

  io::Socket socket_;
  std::unique_ptr<Opening> opening_;  // null: there was no header
  unsigned listener_ = 0;
  bool sends_files_ = true;  // sends from file descriptors, if the engine can
};

}  // namespace h2server::net
