// What may go wrong with a request or a connection, and how often it did.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace h2server::lab::load {

enum class ErrorKind : std::uint8_t {
  none,
  connect,     // a connection, not a request: not established
  tls,         // a connection: the handshake failed
  alpn,        // a connection: the server speaks another protocol
  status,      // another status than expected
  length,      // another length of body than expected
  malformed,   // not HTTP
  truncated,   // the connection ended within the response
  closed,      // the connection ended before the response, or where it had to stay
  reset,       // by the peer: TCP's RST or HTTP/2's RST_STREAM
  refused,     // HTTP/2: not processed (GOAWAY, REFUSED_STREAM)
  early,       // answered as expected, but without taking the whole upload
  timeout,     // no byte for --timeout-s
  unsent,      // closed loop: no connection was left to send it on
  unanswered,  // open loop: no answer, and maybe not sent, when the time was over
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
  std::array<std::uint64_t, error_kinds> counts_{};  // that of `none` stays 0
};

}  // namespace h2server::lab::load
