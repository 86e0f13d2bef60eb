#include "net/port_trial.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include "base/fd.h"
#include "net/addresses.h"

namespace h2server::net {

namespace {

// Returns 0 or an errno value.
int try_one(const addrinfo& address, bool wildcard) {
  const base::Fd socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return errno;
  // The same options as the server's listeners have, since they decide what is in use. Setting them
  // fails only on a wrong level or option.
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.ai_family == AF_INET6) {
    const int only_ipv6 = wildcard ? 0 : 1;
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only_ipv6, sizeof only_ipv6);
  }
  return ::bind(socket.get(), address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
}

}  // namespace

int try_port(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string service = std::to_string(port);
  if (::getaddrinfo(host.empty() ? "::" : host.c_str(), service.c_str(), &hints, &found) != 0) {
    return EADDRNOTAVAIL;
  }
  const Addresses addresses(found);
  int missing = EADDRNOTAVAIL;
  bool bound = false;
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    const int error = try_one(*one, host.empty());
    // As for open_listeners(), one address is enough if the machine lacks the others' family.
    if (error == EAFNOSUPPORT || error == EADDRNOTAVAIL) missing = error;
    else if (error != 0) return error;
    else bound = true;
  }
  if (bound) return 0;
  return host.empty() ? try_port("0.0.0.0", port) : missing;
}

}  // namespace h2server::net
