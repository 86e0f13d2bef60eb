#include "server/worker.h"

#include <unistd.h>

#include <array>

#include "content/support.h"
#include "server/client.h"

namespace h2server::server {
namespace worker_test {

// The worker gets one end of a socket pair (`theirs`), the test keeps the other (`ours`).
struct Pair {
  base::Fd ours;
  Accepted theirs{.kind = {.cleartext = true}};

  Pair() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    ours = base::Fd(ends[0]);
    theirs.socket = base::Fd(ends[1]);
    EXPECT_EQ(::fcntl(ours.get(), F_SETFL, 0), 0);
    const timeval limit{.tv_sec = tests::patience.count(), .tv_usec = 0};
    ::setsockopt(ours.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }

  void ask(std::string_view target) const {
    const std::string text = "GET " + std::string(target) + " HTTP/1.1\r\nHost: x\r\n\r\n";
    EXPECT_EQ(::send(ours.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  // Returns all bytes up to the end of stream, or only the first piece.
  [[nodiscard]] std::string receive(bool all = false) const {
    std::string got;
    std::array<char, 4096> room;
    do {
      const ssize_t count = tests::receive_some(ours.get(), room);
      if (count <= 0) break;
      got.append(room.data(), static_cast<std::size_t>(count));
    } while (all);
    return got;
  }
};

class WorkerTest : public testing::Test {
 protected:
  WorkerTest() {
    const auto add = [this](std::string_view pattern, Handler handler) {
      EXPECT_TRUE(shared_.router.add(GET, pattern, std::move(handler)));
    };
    add("/", [](Request&) { return Response(200, "hello"); });
    // Blocks the thread, as no handler should.
    add("/block", [this](Request&) {
      entered_.set();
      EXPECT_TRUE(released_.wait());
      return Response(200, "blocked");
    });
  }

  // Returns once the worker's thread is blocked.
  void block(const Pair& connection) {
    connection.ask("/block");
    EXPECT_TRUE(entered_.wait());
  }

  SharedContext shared_;
  tests::Signal entered_;
  tests::Signal released_;
};

TEST_F(WorkerTest, ServesWhatItIsHanded) {
  Worker worker(shared_, {});
  ASSERT_TRUE(worker.start());
  std::array<Pair, 3> pairs;
  for (Pair& pair : pairs) {
    ASSERT_TRUE(worker.hand_over(pair.theirs));
    EXPECT_FALSE(pair.theirs.socket.valid()) << "it is the worker's";
  }
  for (Pair& pair : pairs) pair.ask("/");
  for (Pair& pair : pairs) EXPECT_TRUE(pair.receive().ends_with("hello"));
  worker.stop();
  EXPECT_TRUE(worker.join());
  for (Pair& pair : pairs) EXPECT_EQ(pair.receive(), "");
}

TEST_F(WorkerTest, AFullInboxRefuses) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_max < 2 * Worker::inbox_size) GTEST_SKIP() << "too few descriptors";
  const tests::LoweredLimit raised(RLIMIT_NOFILE, limit.rlim_max);
  Worker worker(shared_, {});
  ASSERT_TRUE(worker.start());
  Pair blocking;
  ASSERT_TRUE(worker.hand_over(blocking.theirs));
  block(blocking);
  Pair many;
  for (std::size_t i = 0; i < Worker::inbox_size; ++i) {
    Accepted copy{base::Fd(::fcntl(many.theirs.socket.get(), F_DUPFD_CLOEXEC, 0)), {true}};
    ASSERT_TRUE(worker.hand_over(copy)) << i;
  }
  EXPECT_FALSE(worker.hand_over(many.theirs));
  EXPECT_TRUE(many.theirs.socket.valid()) << "untouched";
  many.ours.close();
  released_.set();
  EXPECT_TRUE(blocking.receive().ends_with("blocked"));
  Pair next;
  while (!worker.hand_over(next.theirs)) std::this_thread::yield();
  next.ask("/");
  EXPECT_TRUE(next.receive().ends_with("hello")) << "there is room again";
  worker.stop();
  EXPECT_TRUE(worker.join());
}

// Two threads update the counters and the queue, which lag behind each other. A hand-over may be
// refused, but none is lost, and the worker does not wait for one that never comes.
TEST_F(WorkerTest, EveryHandOverIsTakenOrRefused) {
  constexpr std::uint64_t tries = 100'000;
  Worker worker(shared_, {});
  ASSERT_TRUE(worker.start());
  Pair many;
  many.ours.close();  // ends each connection at once
  std::uint64_t accepted = 0;
  for (std::uint64_t i = 0; i < tries; ++i) {
    Accepted copy{base::Fd(::fcntl(many.theirs.socket.get(), F_DUPFD_CLOEXEC, 0)), {true}};
    if (copy.socket.valid() && worker.hand_over(copy)) {
      ++accepted;
    } else {
      std::this_thread::yield();
    }
  }
  EXPECT_GT(accepted, 0U);
  worker.stop();
  EXPECT_TRUE(worker.join());
  EXPECT_EQ(worker.counters().accepted.get(), accepted);
  EXPECT_EQ(worker.waiting(), 0U);
}

// Connections handed over before stop() are served.
TEST_F(WorkerTest, TheInboxIsServedWhenItStops) {
  Worker worker(shared_, {});
  ASSERT_TRUE(worker.start());
  Pair blocking;
  ASSERT_TRUE(worker.hand_over(blocking.theirs));
  block(blocking);
  Pair waiting;
  waiting.ask("/");
  ASSERT_TRUE(worker.hand_over(waiting.theirs));
  worker.stop();
  released_.set();
  const std::string reply = waiting.receive(true);
  EXPECT_TRUE(reply.starts_with("HTTP/1.1 200 OK\r\n")) << reply;
  EXPECT_TRUE(reply.ends_with("hello")) << reply;
  EXPECT_TRUE(worker.join());
}

TEST_F(WorkerTest, StoppedAtOnce) {
  for (int round = 0; round < 50; ++round) {
    Worker worker(shared_, {});
    ASSERT_TRUE(worker.start());
    Pair pair;
    ASSERT_TRUE(worker.hand_over(pair.theirs));
    worker.stop();
    if (round % 2 == 0) worker.stop();
    EXPECT_TRUE(worker.join());
    EXPECT_EQ(pair.receive(), "");
  }
}

}  // namespace worker_test
}  // namespace h2server::server
