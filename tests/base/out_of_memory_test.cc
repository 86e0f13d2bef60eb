#include "base/out_of_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace h2server::base {
namespace out_of_memory_test {

TEST(OutOfMemory, EndsTheProcessWithOneLine) {
  EXPECT_EXIT(out_of_memory(), testing::ExitedWithCode(1), "^h2server: out of memory\n$");
}

TEST(OutOfMemory, EndsItWithTheSameStatusWhereNobodyReadsTheLine) {
  const auto into_a_closed_pipe = [] {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(2);
    ::close(ends[0]);
    ::dup2(ends[1], STDERR_FILENO);
    out_of_memory();
  };
  EXPECT_EXIT(into_a_closed_pipe(), testing::ExitedWithCode(1), "");
}

}  // namespace out_of_memory_test
}  // namespace h2server::base
