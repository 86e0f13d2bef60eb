// Kinds of failures of requests and connections, with counters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace h2server::lab::load {

enum class ErrorKind : std::uint8_t {
  none,
  connect,     // of a connection: not established
  tls,         // of a connection: handshake failed
  alpn,        // of a connection: the server speaks another protocol
  status,      // unexpected status
  length,      // unexpected size of the body
  malformed,   // not HTTP
  truncated,   // the connection ended within the response
  closed,      // the connection ended before the response or while it had to stay open
  reset,       // by the peer: TCP's RST or HTTP/2's RST_STREAM
  refused,     // HTTP/2: not processed (GOAWAY, REFUSED_STREAM)
  early,       // the expected answer, but before the whole upload was taken
  timeout,     // no byte for --timeout-s
  unsent,      // closed loop: no connection was left for it
  unanswered,  // open loop: not answered, or not even sent, at the deadline
};
constexpr std::size_t error_kinds = static_cast<std::size_t>(ErrorKind::unanswered) + 1;

[[nodiscard]] std::string_view name_of(ErrorKind kind) noexcept;

class ErrorCounts {
 public:
  void add(ErrorKind kind, std::uint64_t count = 1) noexcept {
    counts_[static_cast<std::size_t>(kind)] += count;
  }
  [[nodiscard]] std::uint64_t of(ErrorKind kind) const noexcept {
    return counts_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] std::uint64_t total() const noexcept;

 private:
  std::array<std::uint64_t, error_kinds> counts_{};  // `none` stays 0
};

}  // namespace h2server::lab::load
