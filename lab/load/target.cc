#include "load/target.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace h2server::lab::load {

Result<Target, std::string> Target::find(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (failure != 0) {
    return std::unexpected(fmt::format("can't find the host {}: {}", host, gai_strerror(failure)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(list, ::freeaddrinfo);
  Target found;
  std::memcpy(&found.address_, list->ai_addr, list->ai_addrlen);
  found.address_size_ = list->ai_addrlen;
  return found;
}

bool Target::on_loopback() const noexcept {
  if (address_.ss_family != AF_INET) return false;
  const auto& address = reinterpret_cast<const sockaddr_in&>(address_);
  return ntohl(address.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

bool Target::next_source() noexcept {
  if (!on_loopback() || source_ == sources_max) return false;
  ++source_;
  connections_ = 0;
  return true;
}

Result<base::Fd> Target::open_socket() const {
  base::Fd made(
      ::socket(address_.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!made.valid()) return std::unexpected(Error{errno, "socket"});
  const int on = 1;
  if (::setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) {
    return std::unexpected(Error{errno, "TCP_NODELAY"});
  }
  if (source_ == 0) return made;
  // connect() chooses the port, because only it knows the whole four-tuple.
  if (::setsockopt(made.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on) != 0) {
    return std::unexpected(Error{errno, "IP_BIND_ADDRESS_NO_PORT"});
  }
  sockaddr_in source{};
  source.sin_family = AF_INET;
  source.sin_addr.s_addr = htonl(INADDR_LOOPBACK + source_);
  if (::bind(made.get(), reinterpret_cast<const sockaddr*>(&source), sizeof source) != 0) {
    return std::unexpected(Error{errno, "bind"});
  }
  return made;
}

Result<base::Fd> Target::connect() {
  if (connections_per_source_ > 0 && connections_ == connections_per_source_) next_source();
  for (;;) {
    Result<base::Fd> made = open_socket();
    if (!made) return made;
    const auto* const address = reinterpret_cast<const sockaddr*>(&address_);
    if (::connect(made->get(), address, address_size_) == 0 || errno == EINPROGRESS) {
      ++connections_;
      return made;
    }
    if (errno == EINTR) {  // the connection continues asynchronously
      ++connections_;
      return made;
    }
    // EADDRNOTAVAIL: all ports of this source are in use. All other errors are returned.
    const int failure = errno;
    if (failure != EADDRNOTAVAIL || !next_source()) {
      return std::unexpected(Error{failure, "connect"});
    }
  }
}

}  // namespace h2server::lab::load
