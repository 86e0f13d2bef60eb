// Where the load goes, and from which addresses it comes.
//
// A connection is told by four numbers, of which three are the same for all of ours: with one
// source address they number as many as there are ephemeral ports (28 232 by default). On IPv4's
// loopback there are more addresses for the asking.
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
  // `host`: a name or an address. The error is a line for the operator.
  static Result<Target, std::string> find(const std::string& host, std::uint16_t port);

  // A non-blocking socket that connects, from the current source address; goes on to the next one
  // when no port is free there.
  [[nodiscard]] Result<base::Fd> connect();
  // The source address changes after so many connections from now on.
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
  std::uint32_t source_ = 0;                  // 0: the kernel's choice; else 127.0.0.1 + source_
  std::uint32_t connections_ = 0;             // from this source address
  std::uint32_t connections_per_source_ = 0;  // 0: as many as there are ports
};

}  // namespace h2server::lab::load
