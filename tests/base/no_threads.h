// NoThreads: while it lives, no thread can start, because the default stack is larger than any
// machine's memory.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>

namespace h2server::tests {

class NoThreads {
 public:
  NoThreads() {
    ::pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    ::pthread_attr_init(&huge);
    EXPECT_EQ(::pthread_attr_setstacksize(&huge, std::size_t{1} << 50), 0);
    EXPECT_EQ(::pthread_setattr_default_np(&huge), 0);
    ::pthread_attr_destroy(&huge);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;
  ~NoThreads() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_;
};

}  // namespace h2server::tests
