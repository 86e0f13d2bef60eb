#include "net/socket_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <string>

#include "base/fd.h"
#include "content/support.h"

namespace h2server::net {
namespace socket_address_test {

// The two ends of a connection through a listener that is bound to `address`.
struct Connected {
  base::Fd client;
  base::Fd server;

  Connected(const sockaddr* address, socklen_t size, const sockaddr* target = nullptr) {
    const base::Fd listener(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener.get(), address, size), 0) << std::strerror(errno);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    sockaddr_storage bound{};
    socklen_t bound_size = sizeof bound;
    EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound), &bound_size), 0);
    if (target != nullptr) {  // IPv4, on the listener's port
      auto& ipv4 = reinterpret_cast<sockaddr_in&>(bound);
      const in_port_t port = reinterpret_cast<const sockaddr_in6&>(bound).sin6_port;
      ipv4 = reinterpret_cast<const sockaddr_in&>(*target);
      ipv4.sin_port = port;
      bound_size = sizeof ipv4;
    }
    if (bound.ss_family == AF_UNIX) bound_size = size;  // the kernel adds a zero
    client = base::Fd(::socket(bound.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(client.get(), reinterpret_cast<sockaddr*>(&bound), bound_size) != 0) {
      ADD_FAILURE() << std::strerror(errno);
      return;
    }
    server = base::Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_TRUE(server.valid());
  }
};

sockaddr_in loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Both ends see the same two addresses.
void expect_ends(const Connected& connected, const std::string& host) {
  const Address client = peer_address(connected.server.get());
  const Address server = local_address(connected.server.get());
  EXPECT_EQ(client.host, host);
  EXPECT_EQ(server.host, host);
  EXPECT_NE(client.port, 0);
  EXPECT_NE(server.port, client.port);
  EXPECT_EQ(client.path + server.path, "");
  EXPECT_EQ(peer_address(connected.client.get()), server);
  EXPECT_EQ(local_address(connected.client.get()), client);
}

TEST(SocketAddress, IPv4) {
  const sockaddr_in address = loopback();
  expect_ends({reinterpret_cast<const sockaddr*>(&address), sizeof address}, "127.0.0.1");
}

TEST(SocketAddress, IPv6) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  expect_ends({reinterpret_cast<const sockaddr*>(&address), sizeof address}, "::1");
}

TEST(SocketAddress, IPv4OfAnIPv6Listener) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  const sockaddr_in target = loopback();
  expect_ends({reinterpret_cast<const sockaddr*>(&address), sizeof address,
               reinterpret_cast<const sockaddr*>(&target)},
              "127.0.0.1");
}

TEST(SocketAddress, Unix) {
  const tests::TemporaryDirectory directory;
  // The longest path has no room for its zero.
  for (const std::size_t size : {directory.path_of("a").size(), sizeof sockaddr_un::sun_path}) {
    std::string path = directory.path_of("a");
    path.resize(size, 'a');
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    const Connected connected(reinterpret_cast<const sockaddr*>(&address), sizeof address);
    EXPECT_EQ(local_address(connected.server.get()), Address{.path = path});
    EXPECT_EQ(peer_address(connected.server.get()), Address());
  }
}

// Its client has no address any more, as that of a Unix socket has none.
TEST(SocketAddress, TcpThatIsReset) {
  const sockaddr_in address = loopback();
  Connected connected(reinterpret_cast<const sockaddr*>(&address), sizeof address);
  EXPECT_FALSE(is_unix_socket(connected.server.get()));
  const struct ::linger at_once{.l_onoff = 1, .l_linger = 0};
  ASSERT_EQ(::setsockopt(connected.client.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once),
            0);
  connected.client.close();
  constexpr int patience_ms = 60'000;
  pollfd reset{.fd = connected.server.get(), .events = 0, .revents = 0};
  ASSERT_EQ(::poll(&reset, 1, patience_ms), 1);
  EXPECT_EQ(peer_address(connected.server.get()), Address());
  EXPECT_FALSE(is_unix_socket(connected.server.get()));
}

TEST(SocketAddress, UnixThatIsClosed) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const base::Fd server(ends[0]);
  base::Fd client(ends[1]);
  EXPECT_TRUE(is_unix_socket(server.get()));
  client.close();
  EXPECT_TRUE(is_unix_socket(server.get()));
  EXPECT_FALSE(is_unix_socket(-1));
}

TEST(SocketAddress, None) {
  const base::Fd open(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(peer_address(open.get()), Address());
  EXPECT_EQ(peer_address(-1), Address());
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const base::Fd one(ends[0]);
  const base::Fd other(ends[1]);
  EXPECT_EQ(peer_address(one.get()), Address());
  EXPECT_EQ(local_address(one.get()), Address());
}

}  // namespace socket_address_test
}  // namespace h2server::net
