// Engines when the system refuses watches, threads or submissions.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <thread>

#include "base/no_threads.h"
#include "file/calls.h"
#include "io/epoll_engine.h"
#include "io/support.h"
#include "io/uring_engine.h"

namespace h2server::io {
namespace refusals_test {

constexpr std::uint32_t number_at = offsetof(seccomp_data, nr);
// The offset of the lower half of an argument on a little-endian machine.
constexpr std::uint32_t argument_at(unsigned index) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t));
}
constexpr sock_filter load(std::uint32_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset);
}
constexpr sock_filter unless(std::uint32_t value, std::uint8_t skipped) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped);
}
constexpr sock_filter verdict(std::uint32_t value) { return BPF_STMT(BPF_RET | BPF_K, value); }

// Installs a filter for the rest of the calling thread's life. Returns a descriptor with
// SECCOMP_FILTER_FLAG_NEW_LISTENER, or a negative number if the system does not support filters.
template <std::size_t size>
int filter_calls(std::array<sock_filter, size> code, unsigned flags = 0) {
  const sock_fprog program{.len = size, .filter = code.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}

// --- watches ------------------------------------------------------------------------------------

// Stops the engine when both coroutines have ended.
struct Ending {
  Engine& engine;
  int left = 2;

  void one() {
    if (--left == 0) engine.stop();
  }
};

Task<void> accept_twice(Ending& ending, Socket& listener, std::array<int, 2>& errors) {
  for (int& error : errors) {
    AcceptOp accept(listener);
    const Result<base::Fd> accepted = co_await accept;
    error = accepted ? 0 : accepted.error().code;
  }
  ending.engine.cancel_all();
  ending.one();
}

Task<void> cancel_when_late(Ending& ending) {
  SleepOp patience(ending.engine, 60'000);
  const bool late = co_await patience;
  if (late) ending.engine.cancel_all();
  ending.one();
}

// ENOSPC: the user's limit of watches is reached. The engine must not treat the listener as
// watched, and retries on the next accept.
TEST(Refusals, AWatchThatFailedIsAskedForAgain) {
  bool filtered = false;
  std::array<int, 2> errors{};
  std::thread([&] {
    auto engine = EpollEngine::open().value();
    base::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::listen(fd.get(), 1), 0);
    filtered = filter_calls(std::to_array<sock_filter>(
                   {load(number_at), unless(SYS_epoll_ctl, 3), load(argument_at(1)),
                    unless(EPOLL_CTL_ADD, 1), verdict(SECCOMP_RET_ERRNO | ENOSPC),
                    verdict(SECCOMP_RET_ALLOW)})) >= 0;
    if (!filtered) return;
    Socket listener(*engine, std::move(fd));
    TaskGroup tasks;
    Ending ending{*engine};
    tasks.start(cancel_when_late(ending));
    tasks.start(accept_twice(ending, listener, errors));
    if (ending.left > 0) engine->run();
  }).join();
  if (!filtered) GTEST_SKIP() << "no seccomp here";
  EXPECT_EQ(errors[0], ENOSPC);
  EXPECT_EQ(errors[1], ENOSPC) << "it waits for events of what is not watched";
}

// --- threads ------------------------------------------------------------------------------------

class FileThreadsRefused : public EngineFixture {
 protected:
  FileThreadsRefused() : EngineFixture(EpollEngine::open().value()) {
    std::string name = "/tmp/h2server-refusals-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    EXPECT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  }
  ~FileThreadsRefused() override { std::filesystem::remove_all(folder_); }

  // Never completes at once, because creating a file may block. Opening the pipe blocks until
  // someone opens its other end.
  FileCall opening(const char* name) {
    const open_how how{.flags = O_WRONLY | O_CREAT | O_CLOEXEC, .mode = 0600, .resolve = 0};
    return FileCall::open(AT_FDCWD, paths_.emplace_back(folder_ / name).c_str(), how);
  }
  Task<void> open(FileCall call, std::optional<int>& result) {
    FileOp op(*engine_, call);
    const int opened = co_await op;
    if (opened >= 0) ::close(opened);
    result = opened;
  }
  Task<void> pass_turns(int count) {
    for (int i = 0; i < count; ++i) {
      SleepOp sleep(*engine_, 1);
      const bool slept = co_await sleep;
      EXPECT_TRUE(slept);
    }
  }
  void run_turns(int count) {
    tasks_.start([](FileThreadsRefused& self, int turns) -> Task<void> {
      co_await self.pass_turns(turns);
      self.engine_->stop();
    }(*this, count));
    engine_->run();
  }

  std::filesystem::path folder_;
  std::deque<std::string> paths_;
};

TEST_F(FileThreadsRefused, TheLoopGoesOnUntilThereIsOne) {
  std::optional<int> result;
  {
    const tests::NoThreads refused;
    start(open(opening("a"), result));
    EXPECT_FALSE(result) << "the loop has waited for the disk";
    run_turns(3);
    EXPECT_FALSE(result);
  }
  run();
  ASSERT_TRUE(result);
  EXPECT_GE(*result, 0);
}

TEST_F(FileThreadsRefused, WhatHasNotBegunCanBeCancelled) {
  const tests::NoThreads refused;
  std::optional<int> first;
  std::optional<int> second;
  start(open(opening("a"), first));
  start(open(opening("b"), second));
  run_turns(1);
  engine_->cancel_all();
  run();
  EXPECT_EQ(first, -ECANCELED);
  EXPECT_EQ(second, -ECANCELED);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a"));
}

TEST_F(FileThreadsRefused, AThreadThatWorksTakesWhatWaits) {
  std::optional<int> first;
  std::optional<int> second;
  start(open(opening("pipe"), first));  // holds a thread
  const tests::NoThreads refused;
  start(open(opening("a"), second));
  EXPECT_FALSE(second);
  const base::Fd reader(::open((folder_ / "pipe").c_str(), O_RDONLY | O_CLOEXEC));
  run();
  EXPECT_GE(first.value_or(-1), 0);
  EXPECT_GE(second.value_or(-1), 0);
}

// --- submissions --------------------------------------------------------------------------------

// Fails a thread's submitting io_uring_enter calls with EAGAIN, as a kernel short of memory does,
// until the count given to stop_after() is used up.
class Refuser {
 public:
  explicit Refuser(int listener) : listener_(listener), thread_([this] { answer_all(); }) {}
  ~Refuser() { thread_.join(); }

  void stop_after(int more) { left_ = more; }
  [[nodiscard]] int refused() const { return refused_; }

 private:
  static constexpr int patience = 10'000;  // refusal limit: more means the engine spins

  void answer_all() {
    for (;;) {
      pollfd ready{.fd = listener_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, -1) < 0) continue;
      if ((ready.revents & POLLIN) == 0) return;  // the thread has ended
      seccomp_notif asked{};
      if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) continue;
      const bool submits = asked.data.args[1] > 0;
      const bool refuses = submits && left_ != 0 && refused_ < patience;
      if (refuses) refused_ = refused_ + 1;
      if (refuses && left_ > 0) left_ = left_ - 1;
      seccomp_notif_resp verdict{};
      verdict.id = asked.id;
      verdict.error = refuses ? -EAGAIN : 0;
      verdict.flags = refuses ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE;
      ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &verdict);
    }
  }

  base::Fd listener_;
  std::atomic<int> refused_{0};
  std::atomic<int> left_{-1};  // negative: no limit
  std::thread thread_;
};

Task<void> receive_one(Socket& socket, std::string& got, Engine& engine, int& left) {
  ReceiveOp receive(socket, 0);
  const Result<Lease> lease = co_await receive;
  got = text_of(lease);
  if (--left == 0) engine.stop();
}

constexpr int connections = 60;  // more than the submission ring holds

void receive_while_refused(std::promise<int> listener, std::future<Refuser*> made) {
  auto engine =
      UringEngine::open({.submissions = 8, .buffer_bytes = 64, .buffers = 64, .buffers_max = 64})
          .value();
  listener.set_value(filter_calls(
      std::to_array<sock_filter>({load(number_at), unless(SYS_io_uring_enter, 1),
                                  verdict(SECCOMP_RET_USER_NOTIF), verdict(SECCOMP_RET_ALLOW)}),
      SECCOMP_FILTER_FLAG_NEW_LISTENER));
  Refuser* const refuser = made.get();
  if (refuser == nullptr) return;
  std::deque<Socket> sockets;
  std::deque<base::Fd> peers;
  std::deque<std::string> got(connections);
  TaskGroup tasks;
  int left = connections;
  for (int i = 0; i < connections; ++i) {
    Pair pair = make_pair_of_sockets();
    peers.push_back(std::move(pair.theirs));
    tasks.start(receive_one(sockets.emplace_back(*engine, std::move(pair.ours)),
                            got[static_cast<std::size_t>(i)], *engine, left));
  }
  EXPECT_LE(refuser->refused(), connections) << "it does not ask again and again";
  EXPECT_GT(refuser->refused(), 0) << "the test does not reach what it is about";
  refuser->stop_after(3);  // the loop's submissions are refused, too
  for (int i = 0; i < connections; ++i) put(peers[static_cast<std::size_t>(i)], std::to_string(i));
  engine->run();
  for (int i = 0; i < connections; ++i) {
    EXPECT_EQ(got[static_cast<std::size_t>(i)], std::to_string(i));
  }
}

TEST(Refusals, WhatTheKernelDoesNotTakeIsKeptForLater) {
  if (engines_here().size() < 2) GTEST_SKIP() << "no io_uring here";
  std::promise<int> listener;
  std::future<int> opened = listener.get_future();
  std::promise<Refuser*> made;
  std::thread engine(receive_while_refused, std::move(listener), made.get_future());
  const int descriptor = opened.get();
  if (descriptor < 0) {
    made.set_value(nullptr);
    engine.join();
    GTEST_SKIP() << "no seccomp here";
  }
  Refuser refuser(descriptor);
  made.set_value(&refuser);
  engine.join();
}

}  // namespace refusals_test
}  // namespace h2server::io
