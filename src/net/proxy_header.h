// The header of the PROXY protocol, by which a proxy tells the addresses of its client's connection
// (HAProxy, "The PROXY protocol", versions 1 and 2).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "h2server/connection_info.h"

namespace h2server::net {

// The ends of the connection between the client and the proxy.
struct ProxiedAddresses {
  Address client;
  Address server;
};

struct ProxyHeader {
  // Version 1 is a line of at most 107 bytes. The addresses of version 2 take up to 216 bytes; what
  // follows them (TLVs) is skipped, and no proxy sends as much as this.
  static constexpr std::size_t bytes_max = 4096;

  enum class Verdict : unsigned char { need_more, malformed, complete };

  Verdict verdict = Verdict::need_more;
  std::size_t size = 0;  // bytes of the header, once it is complete
  // Absent if the proxy speaks for itself (LOCAL, UNKNOWN): the connection's own addresses count.
  std::optional<ProxiedAddresses> addresses = {};
};

// `bytes` are the first ones of a connection.
ProxyHeader parse_proxy_header(std::string_view bytes);

}  // namespace h2server::net
