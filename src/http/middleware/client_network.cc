#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "h2server/forwarded.h"
#include "h2server/rate_limit.h"

namespace h2server {

std::string client_network(const Request& request) {
  const ForwardedClient* const forwarded = request.attached<ForwardedClient>();
  std::string host = forwarded != nullptr ? forwarded->address : request.connection().client().host;
  const std::string address = host.substr(0, host.find('%'));  // without a zone (RFC 4007, 11)
  std::array<unsigned char, 16> bytes{};
  if (::inet_pton(AF_INET6, address.c_str(), bytes.data()) != 1) return host;
  std::ranges::fill(bytes.begin() + 8, bytes.end(), 0);
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());  // there is room for all addresses
  return std::string(text.data()) + "/64";
}

}  // namespace h2server
