// ConnectionMembers: what the lines of one connection have in common, rendered once.
//
// A connection owns it. text() is valid while the object is alive and has not been moved from or
// to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "observe/access_line.h"
#include "observe/access_record.h"

namespace h2server::observe {

struct ConnectionFacts {
  std::string_view address = {};      // the peer's; empty: none (Unix sockets)
  std::uint16_t port = 0;             // 0: none
  std::string_view tls_version = {};  // "1.3"; empty: no TLS
  std::string_view tls_group = {};    // of the key exchange, by IANA; empty: none
};

class ConnectionMembers {
 public:
  ConnectionMembers() = default;

  static ConnectionMembers make(LineFormat format, const ConnectionFacts& connection);

  [[nodiscard]] ConnectionText text() const noexcept;

 private:
  // JSON: the peer's members, those of TLS, the client's members. The two sequences of
  // ConnectionText overlap. Text: the address.
  std::string storage_;
  std::uint16_t peer_bytes_ = 0;
  std::uint16_t peer_and_tls_bytes_ = 0;
  std::uint16_t client_at_ = 0;
  std::uint16_t client_bytes_ = 0;
};

}  // namespace h2server::observe
