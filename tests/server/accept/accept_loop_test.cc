#include "server/accept/accept_loop.h"

#include <fcntl.h>

#include "base/log.h"
#include "content/support.h"
#include "h2server/task_group.h"
#include "io/epoll_engine.h"
#include "net/listener.h"
#include "server/client.h"

namespace h2server::server {
namespace accept_loop_test {

using tests::Client;

class AcceptLoopTest : public testing::Test {
 protected:
  AcceptLoopTest() : engine_(*io::EpollEngine::open()) {
    auto listeners = net::open_listeners({.host = "127.0.0.1"});
    EXPECT_TRUE(listeners);
    port_ = listeners->at(0).address.port;
    const auto take = [this](Accepted& connection) {
      ++offered_;
      if (offered_ <= offers_refused_) return false;
      taken_.push_back(std::move(connection.socket));
      if (shared_ >= 0) ::fcntl(shared_, F_SETFL, ::fcntl(shared_, F_GETFL) & ~O_NONBLOCK);
      if (taken_.size() == wanted_) engine_->stop();
      return true;
    };
    listener_ = listeners->at(0).socket.get();
    loop_.emplace(*engine_, ListeningSocket{std::move(listeners->at(0).socket)}, take,
                  [this] { ++sheds_; });
  }

  // Stops the loop and runs the engine until it has ended.
  void stop() {
    loop_->stop();
    TaskGroup watching;
    watching.start(watch_end());
    if (watching.running() > 0) engine_->run();
    EXPECT_EQ(watching.running(), 0U);
  }

  Task<void> watch_end() {
    co_await group_.join();
    engine_->stop();
  }

  std::unique_ptr<io::EpollEngine> engine_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  int shared_ = -1;  // a listener that gets into blocking mode when a connection is taken
  std::vector<base::Fd> taken_;
  std::size_t wanted_ = 1;
  std::size_t offered_ = 0;
  std::size_t offers_refused_ = 0;  // refuses this many offers first, as if there were no room
  std::size_t sheds_ = 0;           // calls of the shed callback
  std::optional<AcceptLoop> loop_;
  TaskGroup group_;
};

TEST_F(AcceptLoopTest, TakesEveryConnectionUntilItIsStopped) {
  wanted_ = 40;  // more than one turn accepts
  std::vector<Client> clients;
  for (std::size_t i = 0; i < wanted_; ++i) {
    clients.emplace_back(port_);
    ASSERT_EQ(clients.back().error(), 0);
  }
  group_.start(loop_->run());
  engine_->run();
  EXPECT_EQ(taken_.size(), wanted_);
  stop();
  EXPECT_EQ(group_.running(), 0U);
  loop_.reset();
  EXPECT_EQ(Client(port_).error(), ECONNREFUSED) << "the listener is closed";
}

TEST_F(AcceptLoopTest, ShortOfDescriptorsItTriesAgain) {
  const Client client(port_);
  ASSERT_EQ(client.error(), 0);
  // The loop logs. UBSan opens a pipe when it first sees a formatter's class, and reports the
  // object as invalid if it cannot. So log once before the descriptors run out.
  base::log_info("descriptors will run {}", "out");
  {
    const tests::LoweredLimit limit(RLIMIT_NOFILE, tests::descriptors_in_use());
    group_.start(loop_->run());  // fails to accept and pauses
  }
  EXPECT_TRUE(taken_.empty());
  EXPECT_EQ(group_.running(), 1U);
  engine_->run();
  EXPECT_EQ(taken_.size(), 1U);
  stop();
}

TEST_F(AcceptLoopTest, WithoutRoomItOffersTheSameConnectionAgain) {
  wanted_ = 2;
  offers_refused_ = 3;
  const Client first(port_);
  const Client second(port_);
  group_.start(loop_->run());
  engine_->run();
  EXPECT_EQ(taken_.size(), 2U);
  EXPECT_EQ(offered_, 5U);
  stop();
}

TEST_F(AcceptLoopTest, StoppedWhileThereIsNoRoom) {
  offers_refused_ = 1'000'000;
  const Client client(port_);
  group_.start(loop_->run());
  EXPECT_EQ(offered_, 1U);
  stop();
  EXPECT_EQ(group_.running(), 0U);
  EXPECT_TRUE(taken_.empty());
}

TEST_F(AcceptLoopTest, StopEndsThePauseToo) {
  const Client client(port_);
  {
    const tests::LoweredLimit limit(RLIMIT_NOFILE, tests::descriptors_in_use());
    group_.start(loop_->run());
  }
  stop();
  EXPECT_EQ(group_.running(), 0U);
  EXPECT_TRUE(taken_.empty());
}

// A successor that shares the listener waits for it by io_uring, in blocking mode.
TEST_F(AcceptLoopTest, RetiredItTakesWhatIsThereAndWaitsForNoMore) {
  const Client first(port_);
  const Client second(port_);
  shared_ = listener_;
  wanted_ = 3;
  loop_->retire();
  group_.start(loop_->run());
  EXPECT_EQ(group_.running(), 0U);
  EXPECT_EQ(taken_.size(), 2U);
}

TEST_F(AcceptLoopTest, StoppedBeforeItRuns) {
  const Client client(port_);
  loop_->stop();
  group_.start(loop_->run());
  EXPECT_EQ(group_.running(), 0U);
  EXPECT_TRUE(taken_.empty());
}

}  // namespace accept_loop_test
}  // namespace h2server::server
