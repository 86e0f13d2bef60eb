#include "io/blocking_engine.h"

#include <array>
#include <cerrno>
#include <optional>
#include <thread>

#include "io/support.h"

namespace h2server::io {
namespace blocking_engine_test {

using std::chrono::milliseconds;

// Closing `theirs` of a pair requests a drain or a cancel.
struct Asking {
  Pair drain = make_pair_of_sockets();
  Pair cancel = make_pair_of_sockets();

  [[nodiscard]] Interrupts interrupts() const {
    return {.drain = drain.ours.get(), .cancel = cancel.ours.get()};
  }
};

class BlockingEngineTest : public testing::Test {
 protected:
  // The engine never suspends a task, so it has finished when start() returns.
  static void run(Task<void> task) {
    TaskGroup tasks;
    tasks.start(std::move(task));
    EXPECT_EQ(tasks.running(), 0U);
  }

  std::string receive(Socket& socket, std::uint32_t timeout_ms = 0) {
    std::string text;
    const auto body = [&]() -> Task<void> {
      ReceiveOp receive(socket, timeout_ms);
      Result<Lease> lease = co_await receive;
      text = text_of(lease);
    };
    run(body());
    return text;
  }

  int send(Socket& socket, std::string_view bytes, std::uint32_t timeout_ms = 0) {
    int sent = 0;
    const auto body = [&]() -> Task<void> {
      const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
      SendOp send(socket, {&piece, 1}, timeout_ms);
      const Result<std::size_t> result = co_await send;
      sent = result ? static_cast<int>(*result) : -result.error().code;
    };
    run(body());
    return sent;
  }

  bool sleep(std::uint32_t ms) {
    bool slept = false;
    const auto body = [&]() -> Task<void> {
      SleepOp sleep(engine_, ms);
      slept = co_await sleep;
    };
    run(body());
    return slept;
  }

  static std::string error(int code) { return "error " + std::to_string(code); }

  Asking asking_ends_;
  int drains_ = 0;
  std::function<void()> on_drain_;
  BlockingEngine engine_{asking_ends_.interrupts(), [this] {
                           ++drains_;
                           if (on_drain_) on_drain_();
                         }};
  Pair pair_ = make_pair_of_sockets();
};

// --- receiving and sending --------------------------------------------------------------------

TEST_F(BlockingEngineTest, ReceivesWhatHasArrivedAndWhatArrivesLater) {
  Socket socket(engine_, std::move(pair_.ours));
  put(pair_.theirs, "at once");
  EXPECT_EQ(receive(socket), "at once");
  std::thread peer([this] {
    put(pair_.theirs, "later");
    pair_.theirs.close();
  });
  EXPECT_EQ(receive(socket), "later");
  peer.join();
  EXPECT_EQ(receive(socket), "");
  EXPECT_EQ(receive(socket), "") << "the end stays";
}

TEST_F(BlockingEngineTest, ReceivesAllOfMoreThanABuffer) {
  BlockingEngine small(asking_ends_.interrupts(), [] {}, {.buffer_bytes = 4});
  Socket socket(small, std::move(pair_.ours));
  put(pair_.theirs, "0123456789");
  EXPECT_EQ(receive(socket), "0123");
  EXPECT_EQ(receive(socket), "4567");
  EXPECT_EQ(receive(socket), "89");
  EXPECT_EQ(receive(socket, 1), error(ETIMEDOUT));
}

TEST_F(BlockingEngineTest, SendsAndWaitsForRoom) {
  Socket socket(engine_, std::move(pair_.ours));
  EXPECT_EQ(send(socket, "text"), 4);
  const std::string much(1'000'000, 'x');
  while (send(socket, much, 1) > 0) {
  }
  EXPECT_EQ(send(socket, "more", 1), -ETIMEDOUT);
  std::thread peer([this] {
    std::array<char, 65536> room;
    for (std::size_t got = 0; got < 500'000;) {
      const ssize_t count = ::recv(pair_.theirs.get(), room.data(), room.size(), MSG_DONTWAIT);
      if (count <= 0) break;
      got += static_cast<std::size_t>(count);
    }
  });
  EXPECT_EQ(send(socket, "more"), 4);
  peer.join();
  pair_.theirs.close();
  EXPECT_EQ(send(socket, "nobody"), -EPIPE);
}

TEST_F(BlockingEngineTest, TimesOut) {
  Socket socket(engine_, std::move(pair_.ours));
  const std::int64_t before_ms = engine_.now_ms();
  EXPECT_EQ(receive(socket, 20), error(ETIMEDOUT));
  EXPECT_GE(engine_.now_ms() - before_ms, 20);
  put(pair_.theirs, "after that");
  EXPECT_EQ(receive(socket, 20), "after that");
}

TEST_F(BlockingEngineTest, Sleeps) {
  const std::int64_t before_ms = engine_.now_ms();
  EXPECT_TRUE(sleep(0));
  EXPECT_TRUE(sleep(15));
  EXPECT_GE(engine_.now_ms() - before_ms, 15);
}

TEST_F(BlockingEngineTest, BuffersAreLentAgain) {
  Lease first = engine_.borrow();
  const char* const memory = first.room().data();
  EXPECT_EQ(first.room().size(), BlockingLimits().buffer_bytes);
  first.end();
  EXPECT_EQ(engine_.borrow().room().data(), memory);
}

// --- draining ---------------------------------------------------------------------------------

TEST_F(BlockingEngineTest, WhoWaitsIsToldOfTheDrain) {
  Socket socket(engine_, std::move(pair_.ours));
  on_drain_ = [this] { put(pair_.theirs, "told"); };
  std::thread operator_([this] { asking_ends_.drain.theirs.close(); });
  EXPECT_EQ(receive(socket), "told") << "the wait goes on";
  operator_.join();
  EXPECT_EQ(receive(socket, 1), error(ETIMEDOUT));
  EXPECT_EQ(drains_, 1) << "once, though it can still be read";
}

TEST_F(BlockingEngineTest, TheDrainMayCancelWhatWaits) {
  Socket socket(engine_, std::move(pair_.ours));
  asking_ends_.drain.theirs.close();
  const auto body = [&]() -> Task<void> {
    ReceiveOp waiting(socket, 0);
    on_drain_ = [&waiting] {
      EXPECT_TRUE(waiting.pending());
      waiting.cancel();
    };
    const Result<Lease> lease = co_await waiting;
    EXPECT_EQ(text_of(lease), error(ECANCELED));
    waiting.cancel();  // has no effect on a completed operation
  };
  run(body());
  put(pair_.theirs, "others");
  EXPECT_EQ(receive(socket), "others");
}

TEST_F(BlockingEngineTest, TheDrainIsSeenByWhoSleeps) {
  asking_ends_.drain.theirs.close();
  EXPECT_TRUE(sleep(5));
  EXPECT_EQ(drains_, 1);
}

// The socket is always ready, so the engine never blocks.
TEST_F(BlockingEngineTest, WhoNeverWaitsIsToldToo) {
  BlockingEngine engine(asking_ends_.interrupts(), [this] { ++drains_; }, {.look_ms = 1});
  Socket socket(engine, std::move(pair_.ours));
  asking_ends_.drain.theirs.close();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (drains_ == 0 && std::chrono::steady_clock::now() < until) {
    put(pair_.theirs, "x");
    EXPECT_EQ(receive(socket), "x");
  }
  EXPECT_EQ(drains_, 1);
}

// --- cancelling -------------------------------------------------------------------------------

TEST_F(BlockingEngineTest, CancelEndsTheWaitAndAllThatFollow) {
  Socket socket(engine_, std::move(pair_.ours));
  std::thread operator_([this] { asking_ends_.cancel.theirs.close(); });
  EXPECT_EQ(receive(socket), error(ECANCELED));
  operator_.join();
  put(pair_.theirs, "too late");
  EXPECT_EQ(receive(socket), error(ECANCELED));
  EXPECT_EQ(send(socket, "too late"), -ECANCELED);
  EXPECT_FALSE(sleep(10'000));
  EXPECT_EQ(drains_, 0);
}

TEST_F(BlockingEngineTest, CancelEndsASleep) {
  std::thread operator_([this] { asking_ends_.cancel.theirs.close(); });
  EXPECT_FALSE(sleep(3'600'000));
  operator_.join();
}

TEST_F(BlockingEngineTest, ADeadlineCancels) {
  Socket socket(engine_, std::move(pair_.ours));
  asking_ends_.drain.theirs.close();
  on_drain_ = [this] { engine_.cancel_all_at(engine_.now_ms() + 10); };
  EXPECT_EQ(receive(socket), error(ECANCELED));
  EXPECT_EQ(drains_, 1);
  EXPECT_FALSE(sleep(3'600'000));
}

TEST_F(BlockingEngineTest, NobodyNeedsToAsk) {
  BlockingEngine engine(Interrupts{}, [] {});
  Socket socket(engine, std::move(pair_.ours));
  put(pair_.theirs, "text");
  EXPECT_EQ(receive(socket), "text");
  EXPECT_EQ(receive(socket, 1), error(ETIMEDOUT));
  engine.cancel_all();
  EXPECT_EQ(receive(socket), error(ECANCELED));
}

// --- going over to another engine -------------------------------------------------------------

TEST_F(BlockingEngineTest, GivesASocketAway) {
  const std::unique_ptr<Engine> loop = open_engine({EngineKind::epoll}).value();
  Socket socket(engine_, std::move(pair_.ours));
  put(pair_.theirs, "first");
  EXPECT_EQ(receive(socket), "first");
  socket.move_to(*loop);
  std::string text;
  const auto body = [&]() -> Task<void> {
    ReceiveOp receive(socket, 0);
    const Result<Lease> lease = co_await receive;
    text = text_of(lease);
    loop->stop();
  };
  TaskGroup tasks;
  tasks.start(body());
  EXPECT_EQ(tasks.running(), 1U) << "there it is suspended";
  put(pair_.theirs, "second");
  loop->run();
  EXPECT_EQ(text, "second");
}

}  // namespace blocking_engine_test
}  // namespace h2server::io
