// TlsTransport in a turn of the event loop that has lasted long.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "h2server/task_group.h"
#include "io/epoll_engine.h"
#include "net/tls/tls_transport.h"
#include "net/tls_handshake.h"

namespace h2server::net {
namespace tls_long_turns_test {

class TlsInLongTurns : public testing::Test {
 protected:
  // Returns a transport whose client has sent bytes that end the handshake, and has gone.
  std::unique_ptr<TlsTransport> make_transport() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    const base::Fd client(ends[1]);
    constexpr std::string_view no_tls = "SSH-2.0-a_client\r\n";
    EXPECT_EQ(::send(client.get(), no_tls.data(), no_tls.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(no_tls.size()));
    return std::make_unique<TlsTransport>(*engine_, base::Fd(ends[0]), *context_);
  }

  void spend_a_long_turn() const {
    while (engine_->turn_ms() < io::Engine::long_turn_ms) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  // Logs the error with which the handshake ends.
  Task<void> shake_hands(TlsTransport& transport, std::string name, std::uint32_t timeout_ms) {
    const Result<void> done = co_await transport.handshake(timeout_ms, 60'000);
    log_ += name + " " + std::to_string(done ? 0 : done.error().code) + "\n";
    if (tasks_.running() == 1) engine_->stop();
  }
  void start(TlsTransport& transport, std::string name = "a", std::uint32_t timeout_ms = 60'000) {
    tasks_.start(shake_hands(transport, std::move(name), timeout_ms));
  }
  Task<void> spend_long_turns(int count) {
    for (; count > 0; --count) {
      io::SleepOp next_turn(*engine_, 0);
      co_await next_turn;
      log_ += "turn\n";
      spend_a_long_turn();
    }
    if (tasks_.running() == 1) engine_->stop();
  }

  const Files files_;
  const CertificateFiles pair_ = files_.write_pair("a", make_identity("a", ec_key(), nullptr));
  const std::shared_ptr<const TlsContext> context_ =
      TlsContext::open(pair_.certificate_file, pair_.key_file, {}, {}, TlsRecordLayer::own).value();
  const std::unique_ptr<io::EpollEngine> engine_ = io::EpollEngine::open().value();
  std::string log_;
  TaskGroup tasks_;
};

const std::string refused = "a " + std::to_string(EPROTO) + "\n";
const std::string cancelled = "a " + std::to_string(ECANCELED) + "\n";

TEST_F(TlsInLongTurns, AHandshakeWaitsForTheNextOne) {
  const auto transport = make_transport();
  spend_a_long_turn();
  start(*transport);
  EXPECT_EQ(log_, "");
  EXPECT_GT(transport->handshake_memory().bytes(), 0U);
  engine_->run();
  EXPECT_EQ(log_, refused);
}

TEST_F(TlsInLongTurns, AHandshakeThatWaitsMayBeCancelled) {
  for (const bool all : {false, true}) {
    log_.clear();
    const auto transport = make_transport();
    engine_->read_clocks();
    spend_a_long_turn();
    start(*transport);
    if (all) engine_->cancel_all();
    else transport->cancel_read();
    engine_->run();
    EXPECT_EQ(log_, cancelled);
  }
}

TEST_F(TlsInLongTurns, AHandshakeThatWaitsHasItsDeadline) {
  const auto transport = make_transport();
  spend_a_long_turn();
  start(*transport, "a", 1);
  engine_->run();
  EXPECT_EQ(log_, "a " + std::to_string(ETIMEDOUT) + "\n");
}

// Or what makes all turns long would keep handshakes waiting for ever.
TEST_F(TlsInLongTurns, OneOfThoseThatWaitGoesOnInEach) {
  const auto one = make_transport();
  const auto other = make_transport();
  spend_a_long_turn();
  tasks_.start(spend_long_turns(3));
  start(*one, "one");
  start(*other, "other");
  engine_->run();
  const std::string error = " " + std::to_string(EPROTO) + "\n";
  EXPECT_EQ(log_, "turn\none" + error + "turn\nother" + error + "turn\n");
}

}  // namespace tls_long_turns_test
}  // namespace h2server::net
