// The server's address and the clients' source addresses.
//
// With one source address, connections to one server are limited by the number of ephemeral ports
// (28 232 by default). IPv4's loopback network offers more source addresses.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "h2server/result.h"

namespace h2server::lab::load {

class Target {
 public:
  // `host` is a name or an address. The error is a message for the operator.
  static Result<Target, std::string> find(const std::string& host, std::uint16_t port);

  // Returns a non-blocking socket that is connecting from the current source address. Switches to
  // the next address if no port is free.
  [[nodiscard]] Result<base::Fd> connect();
  // Changes the source address after every `connections` connections.
  void set_connections_per_source(std::uint32_t connections) noexcept {
    connections_per_source_ = connections;
  }

 private:
  [[nodiscard]] bool on_loopback() const noexcept;
  [[nodiscard]] Result<base::Fd> open_socket() const;
  bool next_source() noexcept;

  static constexpr std::uint32_t sources_max = 4096;  // far more than a process has descriptors for

  sockaddr_storage address_{};
  socklen_t address_size_ = 0;
  std::uint32_t source_ = 0;                  // 0 for the kernel's choice; else 127.0.0.1 + source_
  std::uint32_t connections_ = 0;             // from this source address
  std::uint32_t connections_per_source_ = 0;  // 0 for as many as there are ports
};

}  // namespace h2server::lab::load
