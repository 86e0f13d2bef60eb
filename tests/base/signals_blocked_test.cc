#include "base/signals_blocked.h"

#include <gtest/gtest.h>

#include <thread>

namespace h2server::base {
namespace signals_blocked_test {

bool blocks_sigterm() {
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, SIGTERM) == 1;
}

TEST(SignalsBlocked, AThreadThatIsStartedMeanwhileKeepsThemBlocked) {
  ASSERT_FALSE(blocks_sigterm());
  bool in_thread = false;
  std::thread thread;
  {
    const SignalsBlocked blocked;
    EXPECT_TRUE(blocks_sigterm());
    thread = std::thread([&in_thread] { in_thread = blocks_sigterm(); });
  }
  EXPECT_FALSE(blocks_sigterm());
  thread.join();
  EXPECT_TRUE(in_thread);
}

}  // namespace signals_blocked_test
}  // namespace h2server::base
