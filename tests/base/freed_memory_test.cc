// Freed memory that lies among what is in use goes back to the kernel.
#include "base/freed_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <vector>

#include "base/sanitizers.h"

namespace freed_memory_test {

using h2server::base::FreedMemory;

constexpr std::size_t mib = 1024 * 1024;

std::size_t own_bytes() {
  std::ifstream in("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  std::size_t of_files = 0;
  in >> total >> resident >> of_files;
  return (resident - of_files) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// 64 MiB in small pieces; pinned() are left between them when the rest is freed.
class Pieces {
 public:
  Pieces() {
    for (std::size_t i = 0; i < 64 * mib / size; ++i) {
      pieces_.push_back(std::make_unique<std::vector<char>>(size, 'x'));
    }
  }
  void free_most() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (i % 64 != 63) pieces_[i].reset();
    }
  }

 private:
  static constexpr std::size_t size = 16 * 1024;
  std::vector<std::unique_ptr<std::vector<char>>> pieces_;
};

TEST(FreedMemory, GoesBackOnceItIsMuch) {
  if (H2SERVER_SANITIZED) GTEST_SKIP() << "sanitizers have a heap of their own";
  FreedMemory freed(0);
  freed.look();
  EXPECT_FALSE(freed.look()) << "nothing was freed";
  Pieces pieces;
  pieces.free_most();
  const std::size_t before = own_bytes();
  EXPECT_TRUE(freed.look());
  EXPECT_LT(own_bytes() + 32 * mib, before);
  EXPECT_FALSE(freed.look()) << "it has gone back";
}

TEST(FreedMemory, IsLookedAtNowAndThen) {
  FreedMemory freed(1'000'000);
  EXPECT_FALSE(freed.asked());
  EXPECT_FALSE(freed.take_request());
  freed.ask();
  EXPECT_TRUE(freed.take_request());
  EXPECT_FALSE(freed.take_request()) << "once";
  freed.look();
  EXPECT_FALSE(freed.asked());
  EXPECT_FALSE(freed.look());
  EXPECT_TRUE(freed.asked()) << "too early: later, then";
}

}  // namespace freed_memory_test
