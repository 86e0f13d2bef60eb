#include "base/memory/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace h2server::base {
namespace arena_test {

TEST(Arena, CopiesStayUntilItIsCleared) {
  Arena arena;
  std::vector<std::string> originals;
  std::vector<std::string_view> copies;
  for (std::size_t size = 0; size < 300; ++size) {
    originals.emplace_back(size * 7 % 500, static_cast<char>('a' + size % 26));
    copies.push_back(arena.copy(originals.back()));
  }
  for (std::size_t i = 0; i < copies.size(); ++i) EXPECT_EQ(copies[i], originals[i]);
}

TEST(Arena, PiecesDoNotOverlap) {
  Arena arena;
  std::vector<std::span<char>> pieces;
  for (const std::size_t size : {1U, 2047U, 1U, 2048U, 2049U, 100'000U, 1U, 0U, 5U}) {
    pieces.push_back(arena.take(size));
    ASSERT_EQ(pieces.back().size(), size);
    std::ranges::fill(pieces.back(), static_cast<char>(pieces.size()));
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (const char c : pieces[i]) ASSERT_EQ(c, static_cast<char>(i + 1));
  }
}

TEST(Arena, KeepsRoomForWhatIsUsual) {
  Arena arena;
  EXPECT_EQ(arena.bytes_held(), 0U);
  const char* const first = arena.take(10).data();
  EXPECT_EQ(arena.bytes_held(), 256U);
  arena.clear();
  EXPECT_EQ(arena.take(256).data(), first);
  EXPECT_EQ(arena.bytes_held(), 256U);
  std::ignore = arena.take(100);
  EXPECT_EQ(arena.bytes_held(), 256U + 512);
  arena.clear();
  EXPECT_EQ(arena.bytes_held(), 0U);
  // From now on one block is enough.
  for (int i = 0; i < 3; ++i) {
    std::ignore = arena.take(256);
    std::ignore = arena.take(100);
    EXPECT_EQ(arena.bytes_held(), 1024U);
    arena.clear();
    EXPECT_EQ(arena.bytes_held(), 1024U);
  }
}

TEST(Arena, GrowsWhileItIsUsed) {
  Arena arena;
  for (int i = 0; i < 10; ++i) std::ignore = arena.take(2000);
  EXPECT_GE(arena.bytes_held(), 10U * 2000);
  arena.clear();
  EXPECT_EQ(arena.bytes_held(), 0U);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 10; ++i) std::ignore = arena.take(2000);
    arena.clear();
    EXPECT_EQ(arena.bytes_held(), 2048U);
  }
}

TEST(Arena, KeepsNoLargeBlockWhenItIsCleared) {
  Arena arena;
  std::ignore = arena.take(1'000'000);
  arena.clear();
  EXPECT_EQ(arena.bytes_held(), 0U);
  EXPECT_EQ(arena.copy("again"), "again");
}

}  // namespace arena_test
}  // namespace h2server::base
