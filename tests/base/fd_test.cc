#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace h2server::base {
namespace fd_test {

bool is_open(int number) { return ::fcntl(number, F_GETFD) != -1; }

TEST(Fd, ClosesWhatItOwns) {
  const int number = ::dup(0);
  {
    const Fd fd(number);
    EXPECT_TRUE(fd.valid());
    EXPECT_EQ(fd.get(), number);
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(Fd, OwnsNothingByDefault) {
  Fd fd;
  EXPECT_FALSE(fd.valid());
  fd.close();
  EXPECT_EQ(fd.release(), -1);
}

TEST(Fd, MovesItsOwnership) {
  Fd first(::dup(0));
  const int number = first.get();
  Fd second(std::move(first));
  EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move): moved-from is empty
  EXPECT_EQ(second.get(), number);
  Fd third(::dup(0));
  const int replaced = third.get();
  third = std::move(second);
  EXPECT_FALSE(is_open(replaced));
  EXPECT_TRUE(is_open(number));
  Fd& same = third;
  third = std::move(same);
  EXPECT_TRUE(is_open(number));
  third.close();
  third.close();
  EXPECT_FALSE(is_open(number));
}

TEST(Fd, GivesItsDescriptorAway) {
  Fd fd(::dup(0));
  const int number = fd.release();
  EXPECT_FALSE(fd.valid());
  EXPECT_TRUE(is_open(number));
  const Fd other(number);
}

}  // namespace fd_test
}  // namespace h2server::base
