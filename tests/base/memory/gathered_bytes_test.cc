#include "base/memory/gathered_bytes.h"

#include <gtest/gtest.h>

namespace h2server::base {
namespace gathered_bytes_test {

std::uint64_t counted() { return MemoryBudget::of_process().held(MemoryOwner::requests); }

TEST(GatheredBytes, CountBeyondALittle) {
  const std::uint64_t before = counted();
  {
    GatheredBytes bytes;
    bytes.append(std::string(GatheredBytes::kept_bytes_max / 2, 'a'));
    EXPECT_EQ(bytes.bytes_held(), 0U);
    EXPECT_EQ(counted(), before);
    bytes.append(std::string(10'000, 'b'));
    EXPECT_EQ(bytes.size(), GatheredBytes::kept_bytes_max / 2 + 10'000);
    EXPECT_EQ(bytes.view().substr(GatheredBytes::kept_bytes_max / 2 - 1, 3), "abb");
    EXPECT_EQ(counted(), before + bytes.bytes_held());
    bytes.clear();
    EXPECT_TRUE(bytes.empty());
    EXPECT_EQ(bytes.bytes_held(), 0U);
    EXPECT_EQ(counted(), before);
    bytes.take(std::string(5'000, 'c'));
    EXPECT_GE(counted(), before + 5'000);
    bytes.take("d");
    EXPECT_EQ(bytes.view(), "d");
    EXPECT_EQ(counted(), before);
    bytes.append(std::string(5'000, 'e'));
  }
  EXPECT_EQ(counted(), before);
}

}  // namespace gathered_bytes_test
}  // namespace h2server::base
