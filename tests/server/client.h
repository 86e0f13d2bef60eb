// For server tests: a client on a raw socket, options and helpers.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <mutex>
#include <semaphore>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "h2server/server.h"
#include "server/schemes/scheme.h"

namespace h2server::tests {

// Time limit after which a test fails instead of hanging.
inline constexpr std::chrono::seconds patience{60};

// As recv(). The end of an io_uring that an earlier test ran on this thread interrupts it, if the
// socket has a time limit.
inline ssize_t receive_some(int socket, std::span<char> room) {
  for (;;) {
    const ssize_t count = ::recv(socket, room.data(), room.size(), 0);
    if (count >= 0 || errno != EINTR) return count;
  }
}

struct Reply {
  int status = 0;  // 0: the connection ended first
  std::string head;
  std::string body;

  [[nodiscard]] bool says(std::string_view line) const {
    return head.find("\r\n" + std::string(line) + "\r\n") != std::string::npos;
  }
};

class Client {
 public:
  enum class Family : std::uint8_t { ipv4, ipv6 };

  // Connects to a port of the loopback address. error() returns the error, or 0. `host` is the last
  // byte of the client's own address in 127.0.0.0/8.
  explicit Client(std::uint16_t port, Family family = Family::ipv4, unsigned host = 1) {
    sockaddr_in ipv4{};
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(port);
    ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_in6 ipv6{};
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = htons(port);
    ipv6.sin6_addr = in6addr_loopback;
    const bool is_ipv4 = family == Family::ipv4;
    const auto* const address = is_ipv4 ? reinterpret_cast<const sockaddr*>(&ipv4)
                                        : reinterpret_cast<const sockaddr*>(&ipv6);
    socket_ = base::Fd(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval limit{.tv_sec = patience.count(), .tv_usec = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const socklen_t size = is_ipv4 ? sizeof ipv4 : sizeof ipv6;
    if (is_ipv4 && host != 1) {
      sockaddr_in own = ipv4;
      own.sin_port = 0;
      own.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + host);
      EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
    }
    if (::connect(socket_.get(), address, size) != 0) error_ = errno;
  }

  [[nodiscard]] int error() const { return error_; }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  // Returns the next response. Its body is delimited by Content-Length.
  Reply receive() {
    Reply reply;
    std::size_t end;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!receive_more()) return reply;
    }
    reply.head = buffer_.substr(0, end + 4);
    std::size_t size = 0;
    constexpr std::string_view length = "\r\nContent-Length: ";
    if (const std::size_t at = reply.head.find(length); at != std::string::npos) {
      const char* const digits = reply.head.data() + at + length.size();
      std::from_chars(digits, reply.head.data() + reply.head.size(), size);
    }
    while (buffer_.size() < end + 4 + size) {
      if (!receive_more()) return reply;
    }
    reply.body = buffer_.substr(end + 4, size);
    buffer_.erase(0, end + 4 + size);
    reply.status = std::stoi(reply.head.substr(9, 3));
    return reply;
  }

  Reply get(std::string_view target) {
    send("GET " + std::string(target) + " HTTP/1.1\r\nHost: test\r\n\r\n");
    return receive();
  }

  // Returns the next `size` bytes, or fewer if the connection ends.
  std::string take(std::size_t size) {
    while (buffer_.size() < size && receive_more()) {
    }
    std::string taken = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return taken;
  }

  // Tells the server that no more follows.
  void close_sending() { ::shutdown(socket_.get(), SHUT_WR); }

  // Closes with RST instead of FIN.
  void reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    socket_.close();
  }

  // Returns true if the server closes the connection without sending anything.
  bool ends() { return buffer_.empty() && !receive_more() && !timed_out_; }

 private:
  bool receive_more() {
    char bytes[16 * 1024];
    const ssize_t count = receive_some(socket_.get(), bytes);
    timed_out_ = count < 0 && errno == EAGAIN;
    EXPECT_FALSE(timed_out_) << "no answer";
    if (count <= 0) return false;
    buffer_.append(bytes, static_cast<std::size_t>(count));
    return true;
  }

  base::Fd socket_;
  int error_ = 0;
  bool timed_out_ = false;
  std::string buffer_;
};

inline ServerOptions cleartext(ServerScheme scheme = ServerScheme::reuseport,
                               unsigned threads = 1) {
  ServerOptions options;
  options.host = "127.0.0.1";
  options.port = 0;
  options.cleartext = true;
  options.scheme = scheme;
  options.threads = threads;
  return options;
}

// The schemes whose handlers run in this process.
constexpr ServerScheme schemes[] = {ServerScheme::reuseport, ServerScheme::acceptor,
                                    ServerScheme::thread_pool, ServerScheme::buffered_pool,
                                    ServerScheme::thread_per_connection};
inline std::string scheme_name(ServerScheme scheme) {
  std::string name(server::kind_of(scheme).name);
  std::ranges::replace(name, '-', '_');  // GoogleTest allows no '-' in names
  return name;
}

inline std::uint16_t port_of(const Server& server) { return server.addresses().at(0).port; }

// An event that one thread sets and another waits for.
class Signal {
 public:
  void set() { happened_.release(); }
  bool wait() { return happened_.try_acquire_for(patience); }

 private:
  std::counting_semaphore<> happened_{0};
};

}  // namespace h2server::tests
