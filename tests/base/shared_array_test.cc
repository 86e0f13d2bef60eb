#include "base/shared_array.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/counter.h"

namespace h2server::base {
namespace shared_array_test {

TEST(SharedArray, AProcessSeesWhatItsChildWrites) {
  Result<SharedArray<Counter>> made = SharedArray<Counter>::make(3);
  ASSERT_TRUE(made);
  const SharedArray<Counter> counters = *std::move(made);
  ASSERT_EQ(counters.items().size(), 3U);
  for (const Counter& counter : counters.items()) EXPECT_EQ(counter.get(), 0U);
  counters.items()[1].set(41);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    counters.items()[1].up();
    ::_exit(0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(counters.items()[1].get(), 42U);
}

TEST(SharedArray, ThereMayBeNoMemory) {
  EXPECT_FALSE(SharedArray<Counter>::make(std::size_t{1} << 50));
}

}  // namespace shared_array_test
}  // namespace h2server::base
