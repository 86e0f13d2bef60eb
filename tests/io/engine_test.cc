#include "io/support.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace h2server::io {
namespace engine_test {

struct Loopback {
  base::Fd listener;
  sockaddr_in address{};
};

Loopback listen_on_loopback() {
  Loopback made;
  made.listener = base::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  made.address.sin_family = AF_INET;
  made.address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof made.address;
  auto* const address = reinterpret_cast<sockaddr*>(&made.address);
  EXPECT_EQ(::bind(made.listener.get(), address, size), 0);
  EXPECT_EQ(::listen(made.listener.get(), 16), 0);
  EXPECT_EQ(::getsockname(made.listener.get(), address, &size), 0);
  return made;
}

base::Fd connect_to(const Loopback& loopback) {
  base::Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&loopback.address),
                      sizeof loopback.address),
            0);
  return client;
}

// Returns the number that the next descriptor will get.
int next_descriptor() {
  const base::Fd probe(::dup(0));
  return probe.get();
}

std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  return bytes;
}

class EngineTest : public EngineFixture, public testing::WithParamInterface<EngineKind> {
 protected:
  EngineTest() : EngineFixture(open_engine_here(GetParam())) {}
};

// --- receiving --------------------------------------------------------------------------------

TEST_P(EngineTest, ReceivesAtOnceWhatHasArrived) {
  Pair pair = make_pair_of_sockets();
  put(pair.theirs, "hello");
  Socket socket(*engine_, std::move(pair.ours));
  const auto body = [&]() -> Task<void> {
    ReceiveOp receive(socket, 0);
    EXPECT_EQ(text_of(co_await receive), "hello");
  };
  start(body());
  if (GetParam() == EngineKind::epoll) {
    EXPECT_EQ(tasks_.running(), 0U);  // without a turn
  }
  run();
}

TEST_P(EngineTest, ReceivesPieceByPieceWhatArrivesLater) {
  Pair pair = make_pair_of_sockets();
  Socket socket(*engine_, std::move(pair.ours));
  std::vector<std::string> received;
  const auto reads = [&]() -> Task<void> {
    for (int i = 0; i < 4; ++i) {
      ReceiveOp receive(socket, 0);
      received.push_back(text_of(co_await receive));
    }
  };
  const auto writes = [&]() -> Task<void> {
    for (const char* const piece : {"a", "bc", "def"}) {
      put(pair.theirs, piece);
      SleepOp pause(*engine_, 1);
      co_await pause;
    }
    pair.theirs.close();
  };
  start(reads());
  EXPECT_EQ(tasks_.running(), 1U);
  start(writes());
  run();
  EXPECT_EQ(received, (std::vector<std::string>{"a", "bc", "def", ""}));
}

TEST_P(EngineTest, ReportsTheEndBehindBytesThatCameWithIt) {
  Pair pair = make_pair_of_sockets();
  Socket socket(*engine_, std::move(pair.ours));
  std::vector<std::string> received;
  const auto reads = [&]() -> Task<void> {
    for (int i = 0; i < 4; ++i) {
      ReceiveOp receive(socket, 0);
      received.push_back(text_of(co_await receive));
    }
  };
  start(reads());
  put(pair.theirs, "last");  // the reader already waits, so one event reports both
  pair.theirs.close();
  run();
  EXPECT_EQ(received, (std::vector<std::string>{"last", "", "", ""}));
}

TEST_P(EngineTest, ReportsTheEndThatWasThereBeforeTheFirstRead) {
  Pair pair = make_pair_of_sockets();
  put(pair.theirs, "last");
  pair.theirs.close();
  Socket socket(*engine_, std::move(pair.ours));
  const auto body = [&]() -> Task<void> {
    ReceiveOp first(socket, 0);
    EXPECT_EQ(text_of(co_await first), "last");
    ReceiveOp second(socket, 0);
    EXPECT_EQ(text_of(co_await second), "");
  };
  run(body());
}

TEST_P(EngineTest, ReceivesAllOfMoreThanABuffer) {
  Pair pair = make_pair_of_sockets();
  Socket socket(*engine_, std::move(pair.ours));
  const std::string sent = pattern(1'000'000);
  std::string received;
  const auto reads = [&]() -> Task<void> {
    for (;;) {
      ReceiveOp receive(socket, 0);
      const Result<Lease> lease = co_await receive;
      if (!lease || lease->empty()) break;
      received += lease->bytes();
    }
  };
  start(reads());
  std::thread peer([&] {
    const int flags = ::fcntl(pair.theirs.get(), F_GETFL);
    ::fcntl(pair.theirs.get(), F_SETFL, flags & ~O_NONBLOCK);
    put(pair.theirs, sent);
    pair.theirs.close();
  });
  run();
  peer.join();
  EXPECT_EQ(received, sent);
}

TEST_P(EngineTest, ReportsAReset) {
  const Loopback loopback = listen_on_loopback();
  base::Fd client = connect_to(loopback);
  Socket socket(*engine_, base::Fd(::accept4(loopback.listener.get(), nullptr, nullptr,
                                             SOCK_NONBLOCK | SOCK_CLOEXEC)));
  const auto body = [&]() -> Task<void> {
    ReceiveOp receive(socket, 0);
    EXPECT_EQ(text_of(co_await receive), "error " + std::to_string(ECONNRESET));
  };
  start(body());
  const linger reset{1, 0};
  ::setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  client.close();
  run();
}

// --- sending ----------------------------------------------------------------------------------

TEST_P(EngineTest, SendsTheRestOnceThePeerReads) {
  Pair pair = make_pair_of_sockets();
  Socket source(*engine_, std::move(pair.ours));
  Socket target(*engine_, std::move(pair.theirs));
  const std::string bytes = pattern(3'000'000);
  std::string received;
  bool had_to_wait = false;
  const auto sends = [&]() -> Task<void> {
    std::string_view left = bytes;
    while (!left.empty()) {
      // Two pieces, so that the test checks their order.
      const std::size_t half = left.size() / 2;
      const std::array<iovec, 2> pieces = {
          {{const_cast<char*>(left.data()), half},
           {const_cast<char*>(left.data() + half), left.size() - half}}};
      SendOp send(source, pieces, 0);
      const Result<std::size_t> sent = co_await send;
      EXPECT_TRUE(sent.has_value());
      if (!sent) co_return;
      EXPECT_GT(*sent, 0U);
      left.remove_prefix(*sent);
    }
  };
  start(sends());
  had_to_wait = tasks_.running() == 1;
  const auto reads = [&]() -> Task<void> {
    while (received.size() < bytes.size()) {
      ReceiveOp receive(target, 0);
      const Result<Lease> lease = co_await receive;
      EXPECT_TRUE(lease && !lease->empty());
      if (!lease || lease->empty()) co_return;
      received += lease->bytes();
    }
  };
  run(reads());
  EXPECT_TRUE(had_to_wait);
  EXPECT_EQ(received, bytes);
}

TEST_P(EngineTest, SendingToAPeerThatLeftIsAnErrorAndNoSignal) {
  Pair pair = make_pair_of_sockets();
  pair.theirs.close();
  Socket socket(*engine_, std::move(pair.ours));
  const auto body = [&]() -> Task<void> {
    char byte = 'x';
    const iovec piece{&byte, 1};
    SendOp send(socket, {&piece, 1}, 0);
    const Result<std::size_t> sent = co_await send;
    EXPECT_EQ(sent.has_value() ? 0 : sent.error().code, EPIPE);
  };
  run(body());
}

TEST_P(EngineTest, ASenderThatWaitsLearnsThatThePeerLeft) {
  Pair pair = make_pair_of_sockets();
  Socket socket(*engine_, std::move(pair.ours));
  const std::string bytes = pattern(1'000'000);
  int error = 0;
  const auto sends = [&]() -> Task<void> {
    for (;;) {
      const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
      SendOp send(socket, {&piece, 1}, 0);
      const Result<std::size_t> sent = co_await send;
      if (sent) continue;
      error = sent.error().code;
      co_return;
    }
  };
  start(sends());
  ASSERT_EQ(tasks_.running(), 1U);
  pair.theirs.close();
  run();
  EXPECT_TRUE(error == EPIPE || error == ECONNRESET) << error;
}

// --- deadlines --------------------------------------------------------------------------------

TEST_P(EngineTest, AReadTimesOutAndNotBeforeItIsDue) {
  Pair pair = make_pair_of_sockets();
  Socket socket(*engine_, std::move(pair.ours));
  const auto body = [&]() -> Task<void> {
    for (const std::uint32_t timeout_ms : {1U, 70U}) {
      const std::int64_t begun_ms = engine_->now_ms();
      ReceiveOp receive(socket, timeout_ms);
      EXPECT_EQ(text_of(co_await receive), "error " + std::to_string(ETIMEDOUT));
      EXPECT_GE(engine_->now_ms() - begun_ms, timeout_ms);
    }
    put(pair.theirs, "late");
    ReceiveOp receive(socket, 1);
    EXPECT_EQ(text_of(co_await receive), "late");
  };
  run(body());
}

TEST_P(EngineTest, ADeadlineThatWasMetDoesNotEndTheNextOperation) {
  Pair pair = make_pair_of_sockets();
  Socket socket(*engine_, std::move(pair.ours));
  bool long_ago = false;
  const auto reads = [&]() -> Task<void> {
    ReceiveOp first(socket, 1);  // leaves the socket's timer armed
    EXPECT_EQ(text_of(co_await first), "in time");
    ReceiveOp second(socket, 60'000);
    EXPECT_EQ(text_of(co_await second), "later");
    EXPECT_TRUE(long_ago);
  };
  const auto writes = [&]() -> Task<void> {
    SleepOp pause(*engine_, 150);  // long past the first deadline
    co_await pause;
    long_ago = true;
    put(pair.theirs, "later");
  };
  start(reads());
  put(pair.theirs, "in time");
  start(writes());
  run();
}

TEST_P(EngineTest, ReaderAndWriterHaveDeadlinesOfTheirOwn) {
  Pair pair = make_pair_of_sockets();
  Socket socket(*engine_, std::move(pair.ours));
  const std::string bytes = pattern(1'000'000);
  std::vector<std::string> order;
  const auto sends = [&]() -> Task<void> {
    for (;;) {
      const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
      SendOp send(socket, {&piece, 1}, 200);
      const Result<std::size_t> sent = co_await send;
      if (sent) continue;
      EXPECT_EQ(sent.error().code, ETIMEDOUT);
      order.emplace_back("writer");
      co_return;
    }
  };
  const auto reads = [&]() -> Task<void> {
    ReceiveOp receive(socket, 1);
    EXPECT_EQ(text_of(co_await receive), "error " + std::to_string(ETIMEDOUT));
    order.emplace_back("reader");
  };
  start(sends());
  start(reads());
  run();
  EXPECT_EQ(order, (std::vector<std::string>{"reader", "writer"}));
}

TEST_P(EngineTest, WhoeverTimesOutMayEndTheSocket) {
  Pair pair = make_pair_of_sockets();
  std::optional<Socket> socket;
  socket.emplace(*engine_, std::move(pair.ours));
  const auto body = [&]() -> Task<void> {
    {
      ReceiveOp receive(*socket, 1);
      EXPECT_EQ(text_of(co_await receive), "error " + std::to_string(ETIMEDOUT));
    }
    socket.reset();
  };
  run(body());
}

TEST_P(EngineTest, SleepsInTheOrderOfTheirDeadlines) {
  std::vector<int> order;
  const auto sleeper = [&](int ms) -> Task<void> {
    const std::int64_t begun_ms = engine_->now_ms();
    SleepOp sleep(*engine_, static_cast<std::uint32_t>(ms));
    EXPECT_TRUE(co_await sleep);
    EXPECT_GE(engine_->now_ms() - begun_ms, ms);
    order.push_back(ms);
  };
  start(sleeper(200));
  start(sleeper(1));
  start(sleeper(100));
  run();
  EXPECT_EQ(order, (std::vector<int>{1, 100, 200}));
}

// --- accepting --------------------------------------------------------------------------------

TEST_P(EngineTest, AcceptsConnectionsThatWaitAndThatComeLater) {
  Loopback loopback = listen_on_loopback();
  const base::Fd early = connect_to(loopback);
  Socket listener(*engine_, std::move(loopback.listener));
  int accepted = 0;
  const auto accepts = [&]() -> Task<void> {
    while (accepted < 3) {
      AcceptOp accept(listener);
      const Result<base::Fd> connection = co_await accept;
      EXPECT_TRUE(connection.has_value());
      if (!connection) co_return;
      ++accepted;
      EXPECT_TRUE(::fcntl(connection->get(), F_GETFD) & FD_CLOEXEC);
    }
  };
  start(accepts());
  if (GetParam() == EngineKind::epoll) {
    EXPECT_EQ(accepted, 1);
  }
  const base::Fd second = connect_to(loopback);
  const base::Fd third = connect_to(loopback);
  run();
  EXPECT_EQ(accepted, 3);
}

// io_uring accepts ahead: none of these connections may be lost, and none is taken from others.
TEST_P(EngineTest, YieldsWhatWasAcceptedBeforeTheEnd) {
  Loopback loopback = listen_on_loopback();
  std::vector<base::Fd> clients;
  clients.push_back(connect_to(loopback));
  Socket listener(*engine_, std::move(loopback.listener));
  std::size_t accepted = 0;
  int ended = 0;
  const auto body = [&]() -> Task<void> {
    AcceptOp first(listener);
    const Result<base::Fd> connection = co_await first;
    accepted += connection.has_value() ? 1U : 0U;
    for (int i = 0; i < 5; ++i) clients.push_back(connect_to(loopback));
    SleepOp turn(*engine_, 5);  // the kernel accepts
    co_await turn;
    const bool may_hold = engine_->end_accepting(listener);
    while (may_hold && ended == 0) {
      AcceptOp accept(listener);
      const Result<base::Fd> held = co_await accept;
      if (held) ++accepted;
      else ended = held.error().code;
    }
  };
  run(body());
  const base::Fd late = connect_to(loopback);
  // The others wait in the backlog.
  base::Fd waiting;
  std::size_t left = 0;
  ::fcntl(listener.fd(), F_SETFL, ::fcntl(listener.fd(), F_GETFL) | O_NONBLOCK);
  while ((waiting = base::Fd(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC))).valid()) {
    ++left;
  }
  EXPECT_EQ(accepted + left, clients.size() + 1);
  if (GetParam() == EngineKind::io_uring) {
    EXPECT_EQ(ended, ECANCELED);
    EXPECT_EQ(left, 1u);
  }
}

TEST_P(EngineTest, AcceptsAgainAfterTheProcessRanOutOfDescriptors) {
  Loopback loopback = listen_on_loopback();
  const base::Fd client = connect_to(loopback);
  Socket listener(*engine_, std::move(loopback.listener));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const auto body = [&]() -> Task<void> {
    const rlimit none_left{static_cast<rlim_t>(next_descriptor()), before.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);
    {
      AcceptOp accept(listener);
      const Result<base::Fd> connection = co_await accept;
      EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
      EXPECT_EQ(connection.has_value() ? 0 : connection.error().code, EMFILE);
    }
    // No new edge comes for the pending connection, so the engine must remember it.
    AcceptOp accept(listener);
    const Result<base::Fd> connection = co_await accept;
    EXPECT_TRUE(connection.has_value());
  };
  run(body());
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineTest, testing::ValuesIn(engines_here()), engine_name);

}  // namespace engine_test
}  // namespace h2server::io
