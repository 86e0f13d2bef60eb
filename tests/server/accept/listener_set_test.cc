#include "server/accept/listener_set.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "content/support.h"
#include "net/listener.h"
#include "server/client.h"
#include "server/stop_signal.h"

namespace h2server::server {
namespace listener_set_test {

using tests::Client;
using Ending = ListenerSet::Ending;

class ListenerSetTest : public testing::Test {
 protected:
  ListenerSetTest() {
    std::vector<ListeningSocket> sockets;
    for (std::uint16_t& port : ports_) {
      auto listeners = net::open_listeners({.host = "127.0.0.1"});
      EXPECT_TRUE(listeners);
      port = listeners->at(0).address.port;
      sockets.push_back({std::move(listeners->at(0).socket)});
    }
    set_.emplace(std::move(sockets), signal_.interrupts().drain);
  }

  StopSignal signal_ = *StopSignal::open();
  std::array<std::uint16_t, 2> ports_{};
  std::optional<ListenerSet> set_;
};

TEST_F(ListenerSetTest, AcceptsFromAllInTurn) {
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) {
    for (const std::uint16_t port : ports_) clients.emplace_back(port);
  }
  std::array<int, 2> accepted{};
  for (int i = 0; i < 4; ++i) {
    const auto connection = set_->accept();
    ASSERT_TRUE(connection);
    sockaddr_in local{};
    socklen_t size = sizeof local;
    ::getsockname(connection->socket.get(), reinterpret_cast<sockaddr*>(&local), &size);
    ++accepted[ntohs(local.sin_port) == ports_[0] ? 0 : 1];
  }
  EXPECT_EQ(accepted[0], 2);
  EXPECT_EQ(accepted[1], 2);
}

TEST_F(ListenerSetTest, EachConnectionGoesToOneOfManyThreads) {
  constexpr int connections = 200;
  std::atomic<int> accepted{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this, &accepted] {
      while (set_->accept()) accepted.fetch_add(1);
    });
  }
  for (int i = 0; i < connections; ++i) {
    Client client(ports_[static_cast<std::size_t>(i) % 2]);
    EXPECT_TRUE(client.ends()) << "it was accepted, and closed";
  }
  signal_.ask();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(accepted, connections);
}

TEST_F(ListenerSetTest, RefusesOnceItIsStopped) {
  const Client waiting(ports_[0]);
  signal_.ask();
  set_->refuse();
  set_->refuse();
  EXPECT_EQ(set_->accept().error(), Ending::stopped);
  EXPECT_EQ(set_->pause(1000), Ending::stopped);
  EXPECT_EQ(Client(ports_[0]).error(), ECONNREFUSED);
  EXPECT_EQ(Client(ports_[1]).error(), ECONNREFUSED);
}

TEST_F(ListenerSetTest, APauseEndsByItself) { EXPECT_EQ(set_->pause(1), std::nullopt); }

// Blocks SIGUSR2 and leaves it pending. Once unblocked, it interrupts a wait.
class PendingSignal {
 public:
  PendingSignal() {
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
    ::signal(SIGUSR2, [](int) {});
    raise();
  }
  ~PendingSignal() {
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    ::signal(SIGUSR2, SIG_DFL);
  }

  void raise() const { ::pthread_kill(::pthread_self(), SIGUSR2); }
  // The signal mask that unblocks it.
  [[nodiscard]] const sigset_t* mask() const { return &before_; }

 private:
  sigset_t before_;
};

TEST_F(ListenerSetTest, ASignalEndsTheWaitThatLetsItThrough) {
  const PendingSignal signal;
  EXPECT_EQ(set_->pause(0), std::nullopt);
  EXPECT_EQ(set_->accept(signal.mask()).error(), Ending::interrupted);
  signal.raise();
  EXPECT_EQ(set_->pause(-1, signal.mask()), Ending::interrupted);
}

TEST_F(ListenerSetTest, ShortOfDescriptorsItPausesAndTriesAgain) {
  const Client client(ports_[0]);
  ASSERT_EQ(client.error(), 0);
  {
    const tests::LoweredLimit limit(RLIMIT_NOFILE, tests::descriptors_in_use());
    const PendingSignal signal;
    EXPECT_EQ(set_->accept(signal.mask()).error(), Ending::interrupted) << "in the pause";
  }
  EXPECT_TRUE(set_->accept());
}

}  // namespace listener_set_test
}  // namespace h2server::server
