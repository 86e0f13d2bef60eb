#include "net/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

namespace h2server::net {
namespace listener_test {

// Returns true if a client can connect to `port` over IPv4 loopback.
bool reaches(std::uint16_t port) {
  const base::Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

TEST(Listener, HoldsAPortUnseen) {
  const ListenOptions held{.host = "127.0.0.1", .listens = false};
  const auto holder = open_listeners(held);
  ASSERT_TRUE(holder);
  const std::uint16_t port = holder->front().address.port;
  EXPECT_FALSE(reaches(port));
  const auto listener = open_listeners({.host = "127.0.0.1"});
  ASSERT_TRUE(listener);
  const std::uint16_t taken = listener->front().address.port;
  EXPECT_FALSE(open_listeners({.host = "127.0.0.1", .port = taken, .listens = false}));
}

int tcp_option(int socket, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  ::getsockopt(socket, IPPROTO_TCP, option, &value, &size);
  return value;
}

// Returns how often a thread of this process has waited for something.
unsigned long pauses_of(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  const std::string name = "voluntary_ctxt_switches:";
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return std::stoul(line.substr(name.size()));
  }
  ADD_FAILURE() << "no count of pauses";
  return 0;
}

TEST(Listener, OpensAFreePort) {
  const auto listeners = open_listeners({.host = "127.0.0.1"});
  ASSERT_TRUE(listeners.has_value()) << listeners.error();
  ASSERT_EQ(listeners->size(), 1U);
  const Listener& listener = listeners->front();
  EXPECT_EQ(listener.address.host, "127.0.0.1");
  EXPECT_NE(listener.address.port, 0);
  EXPECT_TRUE(reaches(listener.address.port));
  EXPECT_TRUE(::fcntl(listener.socket.get(), F_GETFL) & O_NONBLOCK);
  EXPECT_TRUE(::fcntl(listener.socket.get(), F_GETFD) & FD_CLOEXEC);
}

TEST(Listener, WithoutAHostServesIpv4Too) {
  const auto listeners = open_listeners({});
  ASSERT_TRUE(listeners.has_value()) << listeners.error();
  ASSERT_EQ(listeners->size(), 1U);
  EXPECT_TRUE(reaches(listeners->front().address.port));
}

TEST(Listener, ResolvesLocalhostToOnePort) {
  const auto listeners = open_listeners({.host = "localhost"});
  ASSERT_TRUE(listeners.has_value()) << listeners.error();
  for (const Listener& listener : *listeners) {
    EXPECT_TRUE(listener.address.host == "127.0.0.1" || listener.address.host == "::1")
        << listener.address.host;
    EXPECT_EQ(listener.address.port, listeners->front().address.port);
  }
}

// Accepted connections inherit what their listener has.
TEST(Listener, SendsAtOnceAndQueuesLittle) {
  const auto opened = open_listeners({.host = "127.0.0.1"});
  ASSERT_TRUE(opened.has_value()) << opened.error();
  const base::Fd plain(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::listen(plain.get(), 1), 0);  // on any port
  const auto adopted = adopt_listener(plain.get());
  ASSERT_TRUE(adopted.has_value()) << adopted.error();
  for (const Listener* listener : {&opened->front(), &*adopted}) {
    ASSERT_TRUE(reaches(listener->address.port));
    const base::Fd accepted(::accept(listener->socket.get(), nullptr, nullptr));
    ASSERT_TRUE(accepted.valid());
    EXPECT_EQ(tcp_option(accepted.get(), TCP_NODELAY), 1);
    EXPECT_EQ(tcp_option(accepted.get(), TCP_NOTSENT_LOWAT), 128 * 1024);
  }
}

// Whoever shares a listener may set its mode at any time.
TEST(Listener, NoBoundAcceptWaitsInBlockingMode) {
  auto opened = open_listeners({.host = "127.0.0.1"});
  ASSERT_TRUE(opened.has_value()) << opened.error();
  const base::Fd plain(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::listen(plain.get(), 1), 0);
  auto adopted = adopt_listener(plain.get());
  ASSERT_TRUE(adopted.has_value()) << adopted.error();
  const std::string path = testing::TempDir() + "accept-waits.sock";
  auto local = open_unix_listener(path, 0600);
  ASSERT_TRUE(local.has_value()) << local.error();
  for (const Listener* listener : {&opened->front(), &*adopted, &*local}) {
    const int fd = listener->socket.get();
    ASSERT_EQ(::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK), 0);
    bound_accept(fd);
    // With a time limit, a signal always interrupts it: signal(7).
    do {
      EXPECT_EQ(::accept(fd, nullptr, nullptr), -1);
    } while (errno == EINTR);
    EXPECT_EQ(errno, EAGAIN);
  }
}

// The program that serves on it goes on, also if the one that adopts it does not.
TEST(Listener, AdoptionLeavesTheModeAlone) {
  const base::Fd shared(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::listen(shared.get(), 1), 0);
  const int flags = ::fcntl(shared.get(), F_GETFL);
  ASSERT_TRUE(adopt_listener(shared.get()).has_value());
  EXPECT_EQ(::fcntl(shared.get(), F_GETFL), flags);
}

TEST(Listener, SharesAPortWhenAsked) {
  const auto first = open_listeners({.host = "127.0.0.1", .reuse_port = true});
  ASSERT_TRUE(first.has_value()) << first.error();
  const std::uint16_t port = first->front().address.port;
  const auto second = open_listeners({.host = "127.0.0.1", .port = port, .reuse_port = true});
  ASSERT_TRUE(second.has_value()) << second.error();
  EXPECT_EQ(second->front().address.port, port);
}

TEST(Listener, SaysWhichPortIsInUse) {
  const auto first = open_listeners({.host = "127.0.0.1"});
  ASSERT_TRUE(first.has_value()) << first.error();
  const std::uint16_t port = first->front().address.port;
  for (const std::string host : {"127.0.0.1", ""}) {
    const auto second = open_listeners({.host = host, .port = port});
    ASSERT_FALSE(second.has_value());
    EXPECT_NE(second.error().find(std::to_string(port)), std::string::npos) << second.error();
    EXPECT_NE(second.error().find("choose another port"), std::string::npos) << second.error();
    EXPECT_EQ(second.error().find('\n'), std::string::npos);
  }
}

// A server that was killed and is started again must not fail because the kernel is not done yet.
TEST(Listener, WaitsForAPortThatIsGivenUp) {
  auto first = open_listeners({.host = "127.0.0.1"});
  ASSERT_TRUE(first.has_value()) << first.error();
  const std::uint16_t port = first->front().address.port;
  // The port is given up once the other listener waits for it, which it does for a second.
  const pid_t waiting = ::gettid();
  std::thread end([&first, waiting, before = pauses_of(waiting)] {
    while (pauses_of(waiting) == before) std::this_thread::yield();
    first->clear();
  });
  const auto second = open_listeners({.host = "127.0.0.1", .port = port});
  end.join();
  ASSERT_TRUE(second.has_value()) << second.error();
  EXPECT_EQ(second->front().address.port, port);
}

TEST(Listener, SaysWhichAddressIsOthers) {
  // RFC 5737: 192.0.2.0/24 is for documentation, so no host has this address.
  const auto listeners = open_listeners({.host = "192.0.2.1"});
  ASSERT_FALSE(listeners.has_value());
  EXPECT_NE(listeners.error().find("192.0.2.1"), std::string::npos) << listeners.error();
  EXPECT_NE(listeners.error().find("not an address of this machine"), std::string::npos)
      << listeners.error();
}

TEST(Listener, SaysWhichHostIsNone) {
  const auto listeners = open_listeners({.host = "300.300.300.300"});
  ASSERT_FALSE(listeners.has_value());
  EXPECT_NE(listeners.error().find("the host 300.300.300.300"), std::string::npos)
      << listeners.error();
}

}  // namespace listener_test
}  // namespace h2server::net
