// Features of the io_uring engine only: the buffer ring, and passing descriptors between engines.
#include "io/uring_engine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <future>
#include <string>
#include <thread>

#include "io/support.h"

namespace h2server::io {
namespace uring_engine_test {

std::unique_ptr<Engine> open_small() {
  auto engine = UringEngine::open({.submissions = 8,
                                   .buffer_bytes = 64,
                                   .buffers = 2,
                                   .buffers_max = 8,
                                   .unread_buffers_max = 2});
  return engine ? *std::move(engine) : nullptr;
}

class UringEngineTest : public EngineFixture {
 protected:
  UringEngineTest() : EngineFixture(open_small()) {}
  void SetUp() override {
    if (engine_ == nullptr) GTEST_SKIP() << "io_uring is not allowed here";
  }
};

Task<void> receive_all(Socket& socket, std::string& received, std::size_t wanted) {
  while (received.size() < wanted) {
    ReceiveOp receive(socket, 0);
    const Result<Lease> lease = co_await receive;
    EXPECT_TRUE(lease && !lease->empty());
    if (!lease || lease->empty()) co_return;
    received += lease->bytes();
  }
}

TEST_F(UringEngineTest, RunningOutOfBuffersSlowsAndLosesNothing) {
  constexpr std::size_t sockets = 40;  // five times the buffers, and more operations than entries
  std::vector<Pair> pairs;
  std::deque<Socket> ours;
  std::vector<std::string> received(sockets);
  const std::string message(1000, 'm');
  for (std::size_t i = 0; i < sockets; ++i) {
    pairs.push_back(make_pair_of_sockets());
    put(pairs[i].theirs, message);
    ours.emplace_back(*engine_, std::move(pairs[i].ours));
    start(receive_all(ours[i], received[i], message.size()));
  }
  run();
  for (const std::string& bytes : received) EXPECT_EQ(bytes, message);
}

TEST_F(UringEngineTest, LeasesThatAreKeptDoNotStarveOthers) {
  constexpr std::size_t sockets = 20;
  std::vector<Pair> pairs;
  std::deque<Socket> ours;
  std::vector<Lease> kept(sockets);
  const auto keep_one = [&](std::size_t i) -> Task<void> {
    ReceiveOp receive(ours[i], 0);
    Result<Lease> lease = co_await receive;
    EXPECT_EQ(text_of(lease), "x");
    if (lease) kept[i] = *std::move(lease);
  };
  for (std::size_t i = 0; i < sockets; ++i) {
    pairs.push_back(make_pair_of_sockets());
    put(pairs[i].theirs, "x");
    ours.emplace_back(*engine_, std::move(pairs[i].ours));
    start(keep_one(i));
  }
  run();
}

TEST_F(UringEngineTest, WhatNobodyReadsIsBoundedAndComesLater) {
  Pair pair = make_pair_of_sockets();
  ASSERT_EQ(::fcntl(pair.theirs.get(), F_SETFL, O_NONBLOCK), 0);
  Socket socket(*engine_, std::move(pair.ours));
  const std::string piece(64, 'p');
  std::size_t sent = 0;
  const auto fill = [&] {
    ssize_t count;
    while ((count = ::send(pair.theirs.get(), piece.data(), piece.size(), MSG_NOSIGNAL)) > 0) {
      sent += static_cast<std::size_t>(count);
    }
  };
  const auto body = [&]() -> Task<void> {
    fill();
    std::string received;
    co_await receive_all(socket, received, 1);
    for (int turn = 0; turn < 3; ++turn) {
      SleepOp pause(*engine_, 1);
      co_await pause;
      fill();
    }
    int with_kernel = 0;
    EXPECT_EQ(::ioctl(socket.fd(), FIONREAD, &with_kernel), 0);
    const std::size_t held = sent - received.size() - static_cast<std::size_t>(with_kernel);
    EXPECT_LE(held, 8U * 64);  // all buffers
    co_await receive_all(socket, received, sent);
    EXPECT_EQ(received.size(), sent);
  };
  run(body());
}

TEST_F(UringEngineTest, PassesDescriptorsToAnotherThread) {
  constexpr int count = 100;
  std::promise<Engine*> other;
  std::promise<void> all_passed;
  std::atomic<int> passed{0};  // shows the thread sanitizer the order that the kernel guarantees
  int arrived = 0;
  std::thread thread([&] {
    std::unique_ptr<Engine> engine = open_small();
    TaskGroup tasks;
    const auto take = [&]() -> Task<void> {
      while (arrived < count) {
        WokenOp woken(*engine);
        co_await woken;
        for (base::Fd one; (one = engine->take_passed()).valid();) {
          EXPECT_GE(::fcntl(one.get(), F_GETFD), 0);
          EXPECT_GT(passed.load(), arrived);
          ++arrived;
        }
      }
      engine->stop();
    };
    tasks.start(take());
    other.set_value(engine.get());
    engine->run();
    all_passed.get_future().wait();
  });
  Engine& target = *other.get_future().get();
  for (int i = 0; i < count; ++i) {
    base::Fd descriptor(::dup(0));
    ++passed;
    EXPECT_TRUE(engine_->pass(target, descriptor));
  }
  const auto pause = [&]() -> Task<void> {
    SleepOp sleep(*engine_, 1);
    co_await sleep;
  };
  run(pause());  // submits the messages
  all_passed.set_value();
  thread.join();
  EXPECT_EQ(arrived, count);
}

}  // namespace uring_engine_test
}  // namespace h2server::io
