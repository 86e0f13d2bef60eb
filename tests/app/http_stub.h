// HttpStub: a server on loopback whose answers a test prescribes, one per connection in the order
// of the list; the last one is repeated. Keeps what it was sent.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/text/text.h"

namespace h2server::tests {

class HttpStub {
 public:
  struct Received {
    std::string head;
    std::string body;
  };

  // "200", "503 Retry-After: 1" with a field, "close" without an answer, or "hang" until the client
  // gives up. `body`: of every answer. `unix_path`: where it listens instead of a port.
  explicit HttpStub(std::vector<std::string> answers, std::string body = {},
                    const std::string& unix_path = {})
      : answers_(std::move(answers)),
        body_(std::move(body)),
        listener_(::socket(unix_path.empty() ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    unix_path.empty() ? bind_port() : bind_path(unix_path);
    EXPECT_EQ(::listen(listener_.get(), 64), 0);
    thread_ = std::thread([this] { run(); });
  }
  HttpStub(const HttpStub&) = delete;
  HttpStub& operator=(const HttpStub&) = delete;
  ~HttpStub() {
    ::shutdown(listener_.get(), SHUT_RDWR);  // ends accept()
    thread_.join();
  }

  [[nodiscard]] std::string url(std::string_view path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + std::string(path);
  }
  // Waits until it has received that many requests, and returns them.
  [[nodiscard]] std::vector<Received> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return received_.size() >= count; });
    return received_;
  }

 private:
  void bind_port() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.get(), plain, size), 0);
    EXPECT_EQ(::getsockname(listener_.get(), plain, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  void bind_path(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    ASSERT_LT(path.size(), sizeof(address.sun_path));
    path.copy(address.sun_path, path.size());
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }

  void run() {
    for (std::size_t served = 0;; ++served) {
      const base::Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.valid()) return;
      serve(client.get(), answers_[std::min(served, answers_.size() - 1)]);
    }
  }

  void serve(int client, std::string_view answer) {
    Received request = receive(client);
    {
      const std::lock_guard lock(mutex_);
      received_.push_back(std::move(request));
    }
    changed_.notify_all();
    char byte = 0;
    if (answer == "hang") ::recv(client, &byte, 1, 0);
    if (answer == "hang" || answer == "close") return;
    std::string text = "HTTP/1.1 " + std::string(answer.substr(0, 3)) + " -\r\n";
    if (answer.size() > 4) text.append(answer.substr(4)).append("\r\n");
    text += "Connection: close\r\nContent-Length: " + std::to_string(body_.size()) + "\r\n\r\n";
    text += body_;
    ::send(client, text.data(), text.size(), MSG_NOSIGNAL);
  }

  static Received receive(int client) {
    std::string all;
    std::size_t end = std::string::npos;
    std::uint64_t body_bytes = 0;
    char buffer[4096];
    while (end == std::string::npos || all.size() < end + 4 + body_bytes) {
      const ssize_t count = ::recv(client, buffer, sizeof(buffer), 0);
      if (count <= 0) break;
      all.append(buffer, static_cast<std::size_t>(count));
      if (end != std::string::npos) continue;
      end = all.find("\r\n\r\n");
      const std::size_t length = all.find("Content-Length: ");
      if (end == std::string::npos || length > end) continue;
      const std::size_t digits = length + 16;
      body_bytes =
          base::parse_decimal(std::string_view(all).substr(digits, all.find('\r', digits) - digits))
              .value_or(0);
    }
    if (end == std::string::npos) return {.head = all, .body = {}};
    return {.head = all.substr(0, end), .body = all.substr(end + 4)};
  }

  const std::vector<std::string> answers_;
  const std::string body_;
  base::Fd listener_;
  std::uint16_t port_ = 0;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Received> received_;  // guarded by mutex_
};

}  // namespace h2server::tests
