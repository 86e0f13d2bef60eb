#include "server/stop_signal.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>

namespace h2server::server {
namespace stop_signal_test {

bool readable(int descriptor, int ms = 0) {
  pollfd watched{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, ms) == 1;
}

constexpr int patience_ms = 60'000;

TEST(StopSignal, AsksToDrainAndThenToCancel) {
  StopSignal signal = *StopSignal::open();
  const io::Interrupts heard = signal.interrupts();
  EXPECT_FALSE(readable(heard.drain) || readable(heard.cancel));
  signal.ask();
  EXPECT_TRUE(readable(heard.drain));
  EXPECT_FALSE(readable(heard.cancel));
  signal.ask();
  EXPECT_TRUE(readable(heard.drain) && readable(heard.cancel)) << "they stay so";
  signal.ask();  // has no further effect
}

// Runs `life` in a forked process. Its result is the exit status.
pid_t fork_for(const std::function<int()>& life) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(life());
  EXPECT_GT(child, 0);
  return child;
}

int status_of(pid_t child) {
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST(StopSignal, AForkedProcessHears) {
  StopSignal signal = *StopSignal::open();
  const pid_t child = fork_for([&signal] {
    signal.close_asking_end();
    return readable(signal.interrupts().drain, patience_ms) &&
                   readable(signal.interrupts().cancel, patience_ms)
               ? 0
               : 1;
  });
  signal.ask();
  signal.ask();
  EXPECT_EQ(status_of(child), 0);
}

TEST(StopSignal, TheDeathOfWhoAsksAsksToDrain) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t asker = fork_for([&pipe] {
    StopSignal signal = *StopSignal::open();
    fork_for([&signal, &pipe] {
      signal.close_asking_end();
      const bool drains = readable(signal.interrupts().drain, patience_ms);
      const char heard = drains && !readable(signal.interrupts().cancel) ? 'y' : 'n';
      return ::write(pipe[1], &heard, 1) == 1 ? 0 : 1;
    });
    return ::raise(SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(status_of(asker)));
  char heard = '?';
  EXPECT_EQ(::read(pipe[0], &heard, 1), 1);
  EXPECT_EQ(heard, 'y');
  ::close(pipe[0]);
  ::close(pipe[1]);
}

}  // namespace stop_signal_test
}  // namespace h2server::server
