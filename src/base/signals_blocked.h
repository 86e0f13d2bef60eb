// SignalsBlocked: blocks all signals of this thread while it exists. A thread that is started
// meanwhile inherits the mask for good: signals are for the thread that serves them, and SIGPIPE is
// not delivered.
#pragma once

#include <csignal>

namespace h2server::base {

class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace h2server::base
