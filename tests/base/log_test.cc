#include "base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "base/fd.h"

namespace h2server::base {
namespace {

// Redirects standard error to a descriptor for its lifetime.
class Redirected {
 public:
  explicit Redirected(int descriptor) : before_(::dup(STDERR_FILENO)) {
    ::dup2(descriptor, STDERR_FILENO);
  }
  ~Redirected() { ::dup2(before_.get(), STDERR_FILENO); }

 private:
  Fd before_;
};

struct Pipe {
  Fd reader;
  Fd writer;

  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    reader = Fd(ends[0]);
    writer = Fd(ends[1]);
  }
};

sigset_t only(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

bool pending(int signal) {
  sigset_t set;
  sigemptyset(&set);
  ::sigpending(&set);
  return ::sigismember(&set, signal) == 1;
}

void log_into_a_closed_pipe() {
  Pipe pipe;
  pipe.reader.close();
  const Redirected redirected(pipe.writer.get());
  log_line(Severity::info, "nobody reads this");
}

TEST(Log, ALineIsItsSeverityItsTextAndItsEnd) {
  Pipe pipe;
  {
    const Redirected redirected(pipe.writer.get());
    log_line(Severity::info, "one");
    log_line(Severity::warning, "");
    log_error("{} {}", "three", 3);
  }
  std::array<char, 256> room;
  const ssize_t count = ::read(pipe.reader.get(), room.data(), room.size());
  ASSERT_GT(count, 0);
  EXPECT_EQ(std::string_view(room.data(), static_cast<std::size_t>(count)),
            "h2server: one\nh2server: warning: \nh2server: error: three 3\n");
}

// SIGPIPE terminates the process by default.
TEST(Log, AClosedPipeRaisesNoSignal) {
  const auto log_by_default = [] {
    ::signal(SIGPIPE, SIG_DFL);
    log_into_a_closed_pipe();
    ::_exit(pending(SIGPIPE) ? 1 : 0);
  };
  EXPECT_EXIT(log_by_default(), testing::ExitedWithCode(0), "");
}

volatile std::sig_atomic_t handled = 0;

TEST(Log, TheProgramsOwnWayWithTheSignalStays) {
  struct sigaction own{};
  struct sigaction before{};
  own.sa_handler = [](int) { handled = handled + 1; };
  ASSERT_EQ(::sigaction(SIGPIPE, &own, &before), 0);
  handled = 0;
  log_into_a_closed_pipe();
  EXPECT_EQ(handled, 0);
  ASSERT_EQ(::raise(SIGPIPE), 0);
  EXPECT_EQ(handled, 1) << "it is not blocked any more, and the handler is there";
  ASSERT_EQ(::sigaction(SIGPIPE, &before, nullptr), 0);
}

// The program has blocked the signal and accepts it later.
TEST(Log, ASignalThatIsPendingStaysPending) {
  const sigset_t pipe = only(SIGPIPE);
  sigset_t before;
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &pipe, &before), 0);
  log_into_a_closed_pipe();
  EXPECT_FALSE(pending(SIGPIPE)) << "the log's own";
  struct sigaction own{};  // an ignored signal would not stay pending
  struct sigaction disposition{};
  own.sa_handler = SIG_DFL;
  ASSERT_EQ(::sigaction(SIGPIPE, &own, &disposition), 0);
  ASSERT_EQ(::raise(SIGPIPE), 0);
  log_into_a_closed_pipe();
  EXPECT_TRUE(pending(SIGPIPE));
  constexpr timespec at_once{};
  EXPECT_EQ(::sigtimedwait(&pipe, nullptr, &at_once), SIGPIPE);
  ASSERT_EQ(::sigaction(SIGPIPE, &disposition, nullptr), 0);
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
}

}  // namespace
}  // namespace h2server::base
