#include "net/socket_address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace h2server::net {

namespace {

using Ask = int (*)(int, sockaddr*, socklen_t*) noexcept;

std::string text_of(int family, const void* ip) {
  std::array<char, INET6_ADDRSTRLEN> room{};
  return ::inet_ntop(family, ip, room.data(), room.size()) != nullptr ? room.data() : "";
}

Address address_of(const sockaddr_in& ip) {
  return {.host = text_of(AF_INET, &ip.sin_addr), .port = ntohs(ip.sin_port)};
}

Address address_of(const sockaddr_in6& ip) {
  Address address{.port = ntohs(ip.sin6_port)};
  if (IN6_IS_ADDR_V4MAPPED(&ip.sin6_addr)) {
    address.host = text_of(AF_INET, ip.sin6_addr.s6_addr + 12);
    return address;
  }
  address.host = text_of(AF_INET6, &ip.sin6_addr);
  // RFC 4007, 11: a link-local address needs its zone.
  std::array<char, IF_NAMESIZE> zone{};
  if (ip.sin6_scope_id != 0 && ::if_indextoname(ip.sin6_scope_id, zone.data()) != nullptr) {
    address.host += std::string("%") + zone.data();
  }
  return address;
}

Address address_of(const sockaddr_un& name, socklen_t size) {
  const auto bytes = static_cast<std::size_t>(size);
  constexpr std::size_t before = offsetof(sockaddr_un, sun_path);
  if (bytes <= before || name.sun_path[0] == '\0') return {};  // unnamed or abstract
  return {.path = {name.sun_path, ::strnlen(name.sun_path, bytes - before)}};
}

Address ask(Ask question, int socket) {
  sockaddr_storage answer{};
  socklen_t size = sizeof answer;
  // ENOTCONN: the peer is gone. ENOBUFS: the system is short of memory.
  if (question(socket, reinterpret_cast<sockaddr*>(&answer), &size) != 0) return {};
  switch (answer.ss_family) {
    case AF_INET:
      return address_of(reinterpret_cast<const sockaddr_in&>(answer));
    case AF_INET6:
      return address_of(reinterpret_cast<const sockaddr_in6&>(answer));
    case AF_UNIX:
      return address_of(reinterpret_cast<const sockaddr_un&>(answer), size);
    default:
      return {};
  }
}

}  // namespace

Address local_address(int socket) { return ask(::getsockname, socket); }

Address peer_address(int socket) { return ask(::getpeername, socket); }

bool is_unix_socket(int socket) noexcept {
  int domain = 0;
  socklen_t size = sizeof domain;
  return ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

}  // namespace h2server::net
