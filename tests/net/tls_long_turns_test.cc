// TlsTransport in a turn of the event loop that has lasted long.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "h2server/task_group.h"
#include "io/epoll_engine.h"
#include "net/tls/tls_transport.h"
#include "net/tls_handshake.h"

namespace h2server::net {
namespace tls_long_turns_test {

// A transport whose client has sent bytes that end the handshake, and has gone.
class TlsInLongTurns : public testing::Test {
 protected:
  TlsInLongTurns() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    transport_.emplace(*engine_, base::Fd(ends[0]), *context_);
    const base::Fd client(ends[1]);
    constexpr std::string_view no_tls = "SSH-2.0-a_client\r\n";
    EXPECT_EQ(::send(client.get(), no_tls.data(), no_tls.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(no_tls.size()));
  }

  void spend_a_long_turn() const {
    while (engine_->turn_ms() < io::Engine::long_turn_ms) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  Task<void> shake_hands() {
    const Result<void> done = co_await transport_->handshake(60'000, 60'000);
    error_ = done ? 0 : done.error().code;
    transport_.reset();
    engine_->stop();
  }

  const Files files_;
  const CertificateFiles pair_ = files_.write_pair("a", make_identity("a", ec_key(), nullptr));
  const std::shared_ptr<const TlsContext> context_ =
      TlsContext::open(pair_.certificate_file, pair_.key_file, {}, {}, TlsRecordLayer::own).value();
  const std::unique_ptr<io::EpollEngine> engine_ = io::EpollEngine::open().value();
  std::optional<TlsTransport> transport_;
  std::optional<int> error_;  // of the handshake, once it has ended
  TaskGroup tasks_;
};

TEST_F(TlsInLongTurns, AHandshakeWaitsForTheNextOne) {
  spend_a_long_turn();
  tasks_.start(shake_hands());
  EXPECT_EQ(error_, std::nullopt);
  engine_->run();
  EXPECT_EQ(error_, EPROTO);
}

TEST_F(TlsInLongTurns, AHandshakeThatWaitsMayBeCancelled) {
  spend_a_long_turn();
  tasks_.start(shake_hands());
  engine_->cancel_all();
  engine_->run();
  EXPECT_EQ(error_, ECANCELED);
}

}  // namespace tls_long_turns_test
}  // namespace h2server::net
