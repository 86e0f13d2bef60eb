// Engines: cancelling, waking, fairness, and sockets that are destroyed between two events.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/spsc_queue.h"
#include "io/epoll_engine.h"
#include "io/support.h"

namespace h2server::io {
namespace engine_turns_test {

const std::string cancelled = "error " + std::to_string(ECANCELED);

class EngineTurns : public EngineFixture, public testing::WithParamInterface<EngineKind> {
 protected:
  EngineTurns() : EngineFixture(open_engine_here(GetParam())) {}
};

class EpollEngineTurns : public EngineFixture {
 protected:
  EpollEngineTurns() : EngineFixture(EpollEngine::open().value()) {}
};

class EpollEngineSmallTurns : public EngineFixture {
 protected:
  EpollEngineSmallTurns()
      : EngineFixture(EpollEngine::open(
                          {.buffer_bytes = 64, .buffers_kept_max = 2, .inline_operations_max = 4})
                          .value()) {}
};

// --- cancelling -------------------------------------------------------------------------------

TEST_P(EngineTurns, ACancelledOperationEndsOnceAndLeavesTheSocketUsable) {
  Pair pair = make_pair_of_sockets();
  Socket socket(*engine_, std::move(pair.ours));
  ReceiveOp* waiting = nullptr;
  int ended = 0;
  const auto reads = [&]() -> Task<void> {
    {
      ReceiveOp receive(socket, 60'000);
      waiting = &receive;
      EXPECT_EQ(text_of(co_await receive), cancelled);
      ++ended;
      receive.cancel();  // complete: does nothing
    }
    put(pair.theirs, "more");
    ReceiveOp receive(socket, 0);
    EXPECT_EQ(text_of(co_await receive), "more");
  };
  start(reads());
  ASSERT_NE(waiting, nullptr);
  EXPECT_TRUE(waiting->pending());
  waiting->cancel();
  waiting->cancel();
  EXPECT_EQ(ended, 0);  // cancel() only requests: the operation ends in the engine's next turn
  run();
  EXPECT_EQ(ended, 1);
}

TEST_P(EngineTurns, BytesThatComeWithACancellationAreNotLost) {
  Pair pair = make_pair_of_sockets();
  Socket socket(*engine_, std::move(pair.ours));
  ReceiveOp* waiting = nullptr;
  const auto reads = [&]() -> Task<void> {
    {
      ReceiveOp receive(socket, 0);
      waiting = &receive;
      EXPECT_EQ(text_of(co_await receive), cancelled);
    }
    ReceiveOp receive(socket, 0);
    EXPECT_EQ(text_of(co_await receive), "kept");
  };
  start(reads());
  waiting->cancel();
  put(pair.theirs, "kept");
  run();
}

TEST_P(EngineTurns, CancelAllEndsEveryKindAndWhateverStartsLater) {
  Pair pair = make_pair_of_sockets();
  Pair full = make_pair_of_sockets();
  Socket reader(*engine_, std::move(pair.ours));
  Socket writer(*engine_, std::move(full.ours));
  const std::string bytes(1'000'000, 'x');
  int ended = 0;
  const auto reads = [&]() -> Task<void> {
    for (int i = 0; i < 2; ++i) {
      ReceiveOp receive(reader, 60'000);
      EXPECT_EQ(text_of(co_await receive), cancelled);
    }
    ++ended;
  };
  const auto sends = [&]() -> Task<void> {
    for (;;) {
      const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
      SendOp send(writer, {&piece, 1}, 60'000);
      const Result<std::size_t> sent = co_await send;
      if (sent) continue;
      EXPECT_EQ(sent.error().code, ECANCELED);
      ++ended;
      co_return;
    }
  };
  const auto sleeps = [&](std::uint32_t ms) -> Task<void> {
    SleepOp sleep(*engine_, ms);
    EXPECT_FALSE(co_await sleep);
    ++ended;
  };
  const auto waits = [&]() -> Task<void> {
    WokenOp woken(*engine_);
    EXPECT_FALSE(co_await woken);
    WokenOp again(*engine_);
    EXPECT_FALSE(co_await again);
    ++ended;
  };
  start(reads());
  start(sends());
  start(sleeps(60'000));
  start(sleeps(50'000));
  start(waits());
  EXPECT_EQ(tasks_.running(), 5U);
  engine_->cancel_all();
  engine_->cancel_all();
  EXPECT_EQ(ended, 0);
  run();
  EXPECT_EQ(ended, 5);
}

// --- letting others go first -----------------------------------------------------------------

TEST_P(EngineTurns, ASleepOfNothingEndsBehindWhatIsReady) {
  Pair pair = make_pair_of_sockets();
  Pair first = make_pair_of_sockets();
  Socket socket(*engine_, std::move(pair.ours));
  Socket own(*engine_, std::move(first.ours));
  std::string order;
  const auto reads = [&]() -> Task<void> {
    ReceiveOp receive(socket, 0);
    order += text_of(co_await receive);
  };
  const auto sleeps = [&]() -> Task<void> {
    ReceiveOp receive(own, 0);
    order += text_of(co_await receive);
    put(pair.theirs, " read");
    SleepOp turn(*engine_, 0);
    const bool slept = co_await turn;
    order += slept ? " slept" : " cancelled";
  };
  start(reads());
  start(sleeps());
  put(first.theirs, "first");
  run();
  EXPECT_EQ(order, "first read slept");
}

TEST_P(EngineTurns, ASleepOfNothingCanBeCancelled) {
  std::vector<bool> slept;
  const auto sleeps = [&]() -> Task<void> {
    for (int i = 0; i < 2; ++i) {
      SleepOp turn(*engine_, 0);
      const bool to_its_end = co_await turn;
      slept.push_back(to_its_end);
    }
  };
  start(sleeps());
  engine_->cancel_all();
  EXPECT_TRUE(slept.empty());
  run();
  EXPECT_EQ(slept, (std::vector{false, false}));
}

// The thread has another loop, whose clients wait meanwhile.
TEST_F(EpollEngineTurns, ALongRoundIsTheLastOfATurnWithinAnotherLoop) {
  auto& engine = static_cast<EpollEngine&>(*engine_);
  int rounds = 0;
  const auto body = [&]() -> Task<void> {
    for (;;) {
      ++rounds;
      const std::int64_t end_ms = base::monotonic_ms() + 2 * Engine::long_turn_ms;
      while (base::monotonic_ms() < end_ms) std::this_thread::yield();
      SleepOp turn(*engine_, 0);
      const bool slept = co_await turn;
      if (!slept) co_return;
    }
  };
  start(body());  // the first of them
  EXPECT_EQ(engine.turn(), 0) << "there is more to do";
  EXPECT_EQ(rounds, 2);
  EXPECT_EQ(engine.turn(), 0);
  EXPECT_EQ(rounds, 3);
  engine_->cancel_all();
  run();
}

// --- waking -----------------------------------------------------------------------------------

TEST_P(EngineTurns, AWakeIsRememberedUntilSomebodyWaits) {
  int woken_times = 0;
  const auto body = [&]() -> Task<void> {
    engine_->wake();
    engine_->wake();
    SleepOp pause(*engine_, 1);
    co_await pause;
    WokenOp first(*engine_);
    EXPECT_TRUE(co_await first);
    ++woken_times;
    engine_->wake();
    WokenOp second(*engine_);
    EXPECT_TRUE(co_await second);
    ++woken_times;
  };
  start(body());
  run();
  EXPECT_EQ(woken_times, 2);
}

TEST_P(EngineTurns, NoItemThatAnotherThreadHandsOverIsMissed) {
  constexpr int count = 20'000;
  base::SpscQueue<int> inbox(64);
  std::vector<int> received;
  const auto body = [&]() -> Task<void> {
    while (received.size() < count) {
      WokenOp woken(*engine_);
      EXPECT_TRUE(co_await woken);
      while (const std::optional<int> item = inbox.try_pop()) received.push_back(*item);
    }
  };
  start(body());
  std::thread other([&] {
    for (int i = 0; i < count; ++i) {
      while (!inbox.try_push(i)) std::this_thread::yield();
      engine_->wake();
    }
  });
  run();
  other.join();
  ASSERT_EQ(received.size(), static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) EXPECT_EQ(received[static_cast<std::size_t>(i)], i);
}

TEST_P(EngineTurns, WhatWasWrittenBeforeAWakeIsSeenAfterIt) {
  int plain = 0;  // neither atomic nor locked
  std::atomic<bool> seen{false};
  const auto body = [&]() -> Task<void> {
    for (int i = 1; i <= 100; ++i) {
      WokenOp woken(*engine_);
      EXPECT_TRUE(co_await woken);
      EXPECT_EQ(plain, i);
      seen.store(true, std::memory_order_release);
    }
  };
  start(body());
  std::thread other([&] {
    for (int i = 1; i <= 100; ++i) {
      plain = i;
      engine_->wake();
      while (!seen.exchange(false, std::memory_order_acquire)) std::this_thread::yield();
    }
  });
  run();
  other.join();
}

// --- fairness ---------------------------------------------------------------------------------

TEST_F(EpollEngineSmallTurns, ASocketThatFloodsDoesNotStarveAnother) {
  Pair flood = make_pair_of_sockets();
  Pair quiet = make_pair_of_sockets();
  put(flood.theirs, std::string(64 * 1000, 'x'));
  Socket flooded(*engine_, std::move(flood.ours));
  Socket other(*engine_, std::move(quiet.ours));
  int reads = 0;
  int reads_before_other = -1;
  const auto reads_other = [&]() -> Task<void> {
    ReceiveOp receive(other, 0);
    EXPECT_EQ(text_of(co_await receive), "me too");
    reads_before_other = reads;
  };
  const auto reads_flood = [&]() -> Task<void> {
    for (; reads < 1000; ++reads) {
      ReceiveOp receive(flooded, 0);
      const Result<Lease> lease = co_await receive;
      EXPECT_EQ(lease->bytes().size(), 64U);
    }
  };
  start(reads_other());
  put(quiet.theirs, "me too");
  start(reads_flood());
  EXPECT_EQ(reads, 4);  // inline_operations_max
  run();
  EXPECT_EQ(reads, 1000);
  EXPECT_GE(reads_before_other, 0);
  EXPECT_LE(reads_before_other, 8);
}

TEST_F(EpollEngineSmallTurns, AnOperationThatWaitsForItsTurnCanBeCancelled) {
  Pair flood = make_pair_of_sockets();
  put(flood.theirs, std::string(64 * 100, 'x'));
  Socket flooded(*engine_, std::move(flood.ours));
  ReceiveOp* last = nullptr;
  std::string end;
  const auto reads = [&]() -> Task<void> {
    for (;;) {
      ReceiveOp receive(flooded, 1);
      last = &receive;
      const Result<Lease> lease = co_await receive;
      if (lease) continue;
      end = text_of(lease);
      co_return;
    }
  };
  start(reads());
  ASSERT_TRUE(last->pending());
  last->cancel();
  run();
  EXPECT_EQ(end, cancelled);
}

TEST_F(EpollEngineSmallTurns, BuffersAreLentAgain) {
  std::array<const char*, 3> first{};
  {
    const Lease a = engine_->borrow();
    const Lease b = engine_->borrow();
    const Lease c = engine_->borrow();
    first = {a.room().data(), b.room().data(), c.room().data()};
    EXPECT_EQ(a.room().size(), 64U);
    EXPECT_TRUE(a.empty());
  }
  const Lease again = engine_->borrow();  // two were kept: c and b
  EXPECT_NE(std::find(first.begin(), first.end(), again.room().data()), first.end());
}

// --- sockets that go away ---------------------------------------------------------------------

// Two sockets are ready in one turn. The first one's handler destroys the second socket and opens a
// third with the same descriptor number. The second's pending event must not reach the third.
TEST_F(EpollEngineTurns, AnEventOfASocketThatIsGoneReachesNoOther) {
  Pair first_pair = make_pair_of_sockets();
  Pair second_pair = make_pair_of_sockets();
  Pair third_pair = make_pair_of_sockets();
  Socket first(*engine_, std::move(first_pair.ours));
  std::optional<Socket> second;
  second.emplace(*engine_, std::move(second_pair.ours));
  std::optional<Socket> third;
  bool third_began = false;
  const auto reads_third = [&]() -> Task<void> {
    third_began = true;
    ReceiveOp receive(*third, 0);
    EXPECT_EQ(text_of(co_await receive), "for the third");
  };
  const auto replaces = [&]() -> Task<void> {
    ReceiveOp receive(first, 0);
    EXPECT_EQ(text_of(co_await receive), "go");
    const int number = second->fd();
    second.reset();
    third.emplace(*engine_, base::Fd(::fcntl(third_pair.ours.get(), F_DUPFD_CLOEXEC, number)));
    EXPECT_EQ(third->fd(), number);
    start(reads_third());
    put(third_pair.theirs, "for the third");
  };
  const auto watches_second = [&]() -> Task<void> {
    ReceiveOp receive(*second, 0);  // suspends, so the engine watches the descriptor
    EXPECT_EQ(text_of(co_await receive), "once");
    put(first_pair.theirs, "go");
    put(second_pair.theirs, "nobody reads this");
    second_pair.theirs.close();  // and a hang-up
  };
  start(replaces());
  start(watches_second());
  put(second_pair.theirs, "once");
  run();
  EXPECT_TRUE(third_began);
}

TEST_F(EpollEngineTurns, AReaderMayEndItsSocketBeforeTheWritersHalfOfTheEvent) {
  Pair pair = make_pair_of_sockets();
  std::optional<Socket> socket;
  socket.emplace(*engine_, std::move(pair.ours));
  const std::string bytes(1'000'000, 'x');
  SendOp* sending = nullptr;
  bool writer_ended = false;
  const auto sends = [&]() -> Task<void> {
    for (;;) {
      const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
      SendOp send(*socket, {&piece, 1}, 0);
      sending = &send;
      const Result<std::size_t> sent = co_await send;
      if (sent) continue;
      writer_ended = true;
      co_return;
    }
  };
  const auto ends = [&]() -> Task<void> {
    {
      ReceiveOp receive(*socket, 0);
      // A reset, because the peer closed with unread data.
      EXPECT_EQ(text_of(co_await receive), "error " + std::to_string(ECONNRESET));
    }
    sending->cancel();
    while (!writer_ended) {
      SleepOp pause(*engine_, 1);
      co_await pause;
    }
    socket.reset();
  };
  start(sends());
  start(ends());
  pair.theirs.close();  // readable and writable in one event
  run();
  EXPECT_TRUE(writer_ended);
}

TEST_P(EngineTurns, DescriptorsAreUsedAgainManyTimes) {
  for (int i = 0; i < 300; ++i) {
    Pair pair = make_pair_of_sockets();
    Socket socket(*engine_, std::move(pair.ours));
    const auto reads = [&]() -> Task<void> {
      ReceiveOp receive(socket, 60'000);
      EXPECT_EQ(text_of(co_await receive), "x");
    };
    start(reads());
    put(pair.theirs, "x");
    run();
  }
}

// --- clocks -----------------------------------------------------------------------------------

TEST_P(EngineTurns, HasClocks) {
  const std::int64_t now_ms = base::monotonic_ms();
  EXPECT_LE(engine_->now_ms(), now_ms);
  EXPECT_GE(engine_->unix_seconds(), 1'700'000'000);
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineTurns, testing::ValuesIn(engines_here()), engine_name);

}  // namespace engine_turns_test
}  // namespace h2server::io
