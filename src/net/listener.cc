#include "net/listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "net/addresses.h"
#include "net/socket_address.h"

namespace h2server::net {

namespace {

void set_flag(int socket, int level, int option, int value) noexcept {
  // Fails only on a wrong level, option or descriptor type.
  ::setsockopt(socket, level, option, &value, sizeof value);
}

// Bytes that the kernel may hold unsent. By default it takes up to 4 MiB (tcp_wmem), and an urgent
// response of HTTP/2 waits behind them: while a large file was sent over 20 Mbit/s and 50 ms, a
// small one took 1.7 to 2.7 s, and 0.8 to 1.0 s with this limit, without more CPU time for large
// files on loopback. Bytes in flight do not count, so it does not slow long lines.
constexpr int unsent_bytes_max = 128 * 1024;

// Sets what accepted connections inherit. Their receive buffers are left to the kernel: SO_RCVBUF
// would turn off auto-tuning (tcp(7)), up to 32 MiB by tcp_rmem, and allow less (rmem_max).
void set_connection_options(int listener) noexcept {
  set_no_delay(listener);
  set_flag(listener, IPPROTO_TCP, TCP_NOTSENT_LOWAT, unsent_bytes_max);
}

// Returns the value of an option of SOL_SOCKET; if there is none, errno is set.
std::optional<int> option_of(int socket, int option) noexcept {
  int value = 0;
  socklen_t size = sizeof value;
  if (::getsockopt(socket, SOL_SOCKET, option, &value, &size) != 0) return std::nullopt;
  return value;
}

std::string explain(const ListenOptions& options, std::uint16_t port, int error) {
  const std::string where = options.host.empty() ? fmt::format("port {}", port)
                                                 : fmt::format("{} port {}", options.host, port);
  switch (error) {
    case EADDRINUSE:
      return fmt::format("{} is in use: stop the program that listens there or choose another port",
                         where);
    case EACCES:
      return fmt::format("{} needs privileges: choose a port from 1024 up, or grant "
                         "cap_net_bind_service to this program",
                         where);
    case EADDRNOTAVAIL:
      return fmt::format("{} is not an address of this machine", where);
    default:
      return fmt::format("can't listen on {}: {}", where, std::strerror(error));
  }
}

Result<Addresses, std::string> resolve(const ListenOptions& options) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const char* const host = options.host.empty() ? "::" : options.host.c_str();
  const int failure = ::getaddrinfo(host, "0", &hints, &list);
  if (failure != 0) {
    return std::unexpected(
        fmt::format("can't resolve the host {}: {}", options.host, ::gai_strerror(failure)));
  }
  return Addresses(list);
}

void set_port(sockaddr* address, std::uint16_t port) {
  if (address->sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in*>(address)->sin_port = htons(port);
  }
}

// Returns 0 or an errno value. A program that was killed may hold its port for some milliseconds
// after its end, on a busy machine longer: io_uring closes what was open a little later.
int bind_in_time(int fd, const sockaddr* address, socklen_t size) {
  constexpr int tries_max = 20;
  constexpr std::chrono::milliseconds pause(50);
  for (int tries = 1;; ++tries) {
    if (::bind(fd, address, size) == 0) return 0;
    if (errno != EADDRINUSE || tries == tries_max) return errno;
    std::this_thread::sleep_for(pause);
  }
}

// The error is an errno value.
Result<Listener, int> open_one(const ListenOptions& options, sockaddr* address, socklen_t size,
                               std::uint16_t port) {
  Listener listener;
  listener.socket =
      base::Fd(::socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int fd = listener.socket.get();
  if (fd < 0) return std::unexpected(errno);
  set_flag(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (options.reuse_port) set_flag(fd, SOL_SOCKET, SO_REUSEPORT, 1);
  set_connection_options(fd);
  // The wildcard serves IPv4 too; a named address serves only itself.
  if (address->sa_family == AF_INET6) {
    set_flag(fd, IPPROTO_IPV6, IPV6_V6ONLY, options.host.empty() ? 0 : 1);
  }
  set_port(address, port);
  const int refused = bind_in_time(fd, address, size);
  if (refused != 0) return std::unexpected(refused);
  if (options.listens && ::listen(fd, options.backlog) != 0) return std::unexpected(errno);
  listener.address = local_address(fd);
  return listener;
}

}  // namespace

Result<std::vector<Listener>, std::string> open_listeners(const ListenOptions& options) {
  Result<Addresses, std::string> addresses = resolve(options);
  if (!addresses) return std::unexpected(addresses.error());
  std::vector<Listener> listeners;
  std::uint16_t port = options.port;
  int no_family = 0;
  for (addrinfo* one = addresses->get(); one != nullptr; one = one->ai_next) {
    Result<Listener, int> listener = open_one(options, one->ai_addr, one->ai_addrlen, port);
    if (!listener) {
      // A name may resolve to an address of a family that this machine does not have: localhost
      // also resolves to ::1. One address is enough.
      const int error = listener.error();
      if (error != EAFNOSUPPORT && error != EADDRNOTAVAIL) {
        return std::unexpected(explain(options, port, error));
      }
      no_family = error;
      continue;
    }
    port = listener->address.port;
    listeners.push_back(*std::move(listener));
  }
  if (!listeners.empty()) return listeners;
  if (options.host.empty()) {  // no IPv6 here
    ListenOptions ipv4 = options;
    ipv4.host = "0.0.0.0";
    return open_listeners(ipv4);
  }
  return std::unexpected(explain(options, port, no_family));
}

Result<Listener, std::string> open_unix_listener(const std::string& path, unsigned mode) {
  base::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) {
    return std::unexpected(fmt::format("can't listen on {}: {}", path, std::strerror(errno)));
  }
  Result<SocketFile, std::string> file = SocketFile::listen(socket.get(), path, mode, backlog_max);
  if (!file) return std::unexpected(file.error());
  return Listener{.socket = std::move(socket), .address = {.path = path}, .file = *std::move(file)};
}

Result<Listener, std::string> adopt_listener(int descriptor) {
  const auto refuse = [descriptor](std::string_view why) {
    return std::unexpected(fmt::format("can't listen on descriptor {}: {}", descriptor, why));
  };
  const std::optional<int> domain = option_of(descriptor, SO_DOMAIN);
  if (!domain) return refuse(std::strerror(errno));  // EBADF, ENOTSOCK
  const bool is_ip = *domain == AF_INET || *domain == AF_INET6;
  if (!is_ip && *domain != AF_UNIX) return refuse("it is no TCP or Unix socket");
  if (option_of(descriptor, SO_TYPE) != SOCK_STREAM) return refuse("it is no stream socket");
  if (option_of(descriptor, SO_ACCEPTCONN) != 1) return refuse("it does not listen");
  Listener listener;
  listener.socket = base::Fd(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (!listener.socket.valid()) return refuse(std::strerror(errno));  // EMFILE
  const int fd = listener.socket.get();
  if (is_ip) set_connection_options(fd);
  listener.address = local_address(fd);
  return listener;
}

Result<base::Fd, std::string> copy_of(const base::Fd& socket) {
  base::Fd copy(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  if (copy.valid()) return copy;
  return std::unexpected(fmt::format("can't copy a listener: {}", std::strerror(errno)));
}

void bound_accept(int listener) noexcept {
  const timeval time{.tv_sec = 0, .tv_usec = 1};
  // Fails only on a wrong descriptor or time.
  ::setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

void set_no_delay(int connection) noexcept { set_flag(connection, IPPROTO_TCP, TCP_NODELAY, 1); }

}  // namespace h2server::net
