// StoreStub: an HTTP/1.1 server on loopback in place of an S3 store. A script makes its answers. It
// keeps the heads and the bodies of requests, and counts what became of its connections. It sends
// no "100 Continue".
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace h2server::tests {

class StoreStub {
 public:
  static constexpr std::size_t uncut = static_cast<std::size_t>(-1);

  struct Answer {
    int status = 200;
    std::vector<std::string> fields = {};  // without Content-Length
    std::string body = {};
    std::size_t cut = uncut;  // after so many bytes of the body, closes the connection
    bool silent = false;      // sends nothing, and waits for the client's end
    bool hangs = false;       // after `cut`, waits for the client's end
    bool closes = false;      // sends nothing, and closes the connection
  };
  struct Counts {
    std::size_t connections = 0;
    std::size_t left = 0;  // clients that ended a connection whose answer was not complete
    std::size_t sent = 0;  // bytes
    bool stalled = false;  // a client has taken nothing for a while
    bool whole = false;    // an answer has been sent to its end
  };
  // Gets the head of the request, and how many there were before. On threads of the stub, one at a
  // time.
  using Script = std::function<Answer(const std::string& head, std::size_t number)>;

  explicit StoreStub(Script script)
      : script_(std::move(script)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.get(), plain, size), 0);
    EXPECT_EQ(::getsockname(listener_.get(), plain, &size), 0);
    EXPECT_EQ(::listen(listener_.get(), 512), 0);
    port_ = ntohs(address.sin_port);
    accepts_ = std::thread([this] { accept_all(); });
  }
  // The list is one of answers, in their order; the last one is repeated.
  explicit StoreStub(std::vector<Answer> answers)
      : StoreStub([answers = std::move(answers)](const std::string&, std::size_t number) {
          return answers[std::min(number, answers.size() - 1)];
        }) {}
  StoreStub(const StoreStub&) = delete;
  StoreStub& operator=(const StoreStub&) = delete;
  ~StoreStub() {
    ::shutdown(listener_.get(), SHUT_RDWR);  // ends accept()
    accepts_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const Connection& one : connections_) ::shutdown(one.socket.get(), SHUT_RDWR);
    }
    for (Connection& one : connections_) one.thread.join();
  }

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  // In the same order; empty ones, too.
  [[nodiscard]] std::vector<std::string> bodies() {
    const std::lock_guard lock(mutex_);
    return bodies_;
  }
  // Waits until the counts are as wanted, and returns them.
  Counts wait_for(const std::function<bool(const Counts&)>& wanted) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return wanted(counts_); });
    return counts_;
  }
  void wait_for_requests(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return requests_.size() >= count; });
  }

 private:
  struct Connection {
    base::Fd socket;
    std::thread thread = {};
  };

  template <class Change>
  void change(Change make) {
    {
      const std::lock_guard lock(mutex_);
      make();
    }
    changed_.notify_all();
  }

  void accept_all() {
    for (;;) {
      base::Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.valid()) return;
      change([&] {
        ++counts_.connections;
        Connection& one = connections_.emplace_back(Connection{.socket = std::move(client)});
        one.thread = std::thread([this, socket = one.socket.get()] { serve(socket); });
      });
    }
  }

  void serve(int client) {
    std::string received;
    while (receive_head(client, received)) {
      const std::size_t end = received.find("\r\n\r\n") + 4;
      const std::size_t size = end + body_size(received.substr(0, end));
      if (!receive(client, received, size)) break;
      Answer answer;
      change([&] {
        answer = script_(received.substr(0, end), requests_.size());
        requests_.push_back(received.substr(0, end));
        bodies_.push_back(received.substr(end, size - end));
      });
      const bool is_head = received.starts_with("HEAD ");
      received.erase(0, size);
      if (!send_answer(client, answer, is_head)) break;
    }
    ::shutdown(client, SHUT_RDWR);
  }

  static bool receive_more(int client, std::string& received) {
    char buffer[65536];
    const ssize_t count = ::recv(client, buffer, sizeof(buffer), 0);
    if (count <= 0) return false;
    received.append(buffer, static_cast<std::size_t>(count));
    return true;
  }

  static bool receive_head(int client, std::string& received) {
    while (!received.contains("\r\n\r\n")) {
      if (!receive_more(client, received)) return false;
    }
    return true;
  }

  static bool receive(int client, std::string& received, std::size_t size) {
    while (received.size() < size) {
      if (!receive_more(client, received)) return false;
    }
    return true;
  }

  static std::size_t body_size(const std::string& head) {
    const std::size_t at = head.find("Content-Length: ");
    return at == std::string::npos ? 0 : std::stoul(head.substr(at + 16));
  }

  // Returns true if the connection goes on.
  bool send_answer(int client, const Answer& answer, bool is_head) {
    if (answer.closes) return false;
    if (answer.silent) return wait_for_end(client);
    std::string text = "HTTP/1.1 " + std::to_string(answer.status) + " -\r\n";
    for (const std::string& field : answer.fields) text += field + "\r\n";
    text += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n";
    if (!is_head) text += answer.body.substr(0, answer.cut);
    if (!send_all(client, text)) {
      change([&] { ++counts_.left; });
      return false;
    }
    if (answer.hangs) return wait_for_end(client);
    if (answer.cut < answer.body.size()) return false;
    change([&] { counts_.whole = true; });
    return true;
  }

  bool wait_for_end(int client) {
    char byte = 0;
    ::recv(client, &byte, 1, 0);
    change([&] { ++counts_.left; });
    return false;
  }

  bool send_all(int client, std::string_view text) {
    while (!text.empty()) {
      pollfd room{.fd = client, .events = POLLOUT, .revents = 0};
      if (::poll(&room, 1, 300) == 0) {
        change([&] { counts_.stalled = true; });
        continue;
      }
      const ssize_t count = ::send(client, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno == EAGAIN) continue;
      if (count < 0) return false;
      text.remove_prefix(static_cast<std::size_t>(count));
      change([&] { counts_.sent += static_cast<std::size_t>(count); });
    }
    return true;
  }

  const Script script_;
  base::Fd listener_;
  std::uint16_t port_ = 0;
  std::mutex mutex_;  // for all below
  std::condition_variable changed_;
  std::vector<std::string> requests_;
  std::vector<std::string> bodies_;
  Counts counts_;
  std::list<Connection> connections_;
  std::thread accepts_;
};

}  // namespace h2server::tests
