#include "content/storage/gather_buffer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace h2server::content {
namespace gather_buffer_test {

constexpr std::size_t small = GatherLimits::small_bytes;
constexpr std::size_t large = GatherLimits::large_bytes;

// Returns the sizes of the batches that a body makes if it comes in pieces of that size, one each
// `step_ms`.
std::vector<std::size_t> batches(std::optional<std::uint64_t> known, bool at_once, std::size_t body,
                                 std::size_t piece_bytes, std::int64_t step_ms) {
  std::int64_t now = 0;
  GatherBuffer buffer(known, at_once, now);
  std::vector<std::size_t> sizes;
  std::string expected;
  unsigned char next = 0;
  while (body > 0) {
    const std::string piece(std::min(piece_bytes, body), static_cast<char>(next++));
    body -= piece.size();
    now += step_ms;
    std::string_view rest = piece;
    while (!rest.empty()) {
      const std::size_t before = rest.size();
      buffer.take(rest);
      expected += piece.substr(piece.size() - before, before - rest.size());
      EXPECT_EQ(buffer.bytes(), expected);
      if (!rest.empty()) {
        EXPECT_TRUE(buffer.full());
      }
      if (!buffer.due(now)) continue;
      sizes.push_back(buffer.bytes().size());
      buffer.clear(now);
      expected.clear();
    }
  }
  if (!buffer.bytes().empty()) sizes.push_back(buffer.bytes().size());
  return sizes;
}

TEST(GatherBuffer, Batches) {
  using Sizes = std::vector<std::size_t>;
  struct Row {
    std::optional<std::uint64_t> known;
    bool at_once;
    std::size_t body;
    std::size_t piece;
    std::int64_t step_ms;
    Sizes sizes;
  };
  const std::vector<Row> rows = {
      // A fast client: one small batch, then large ones that end at multiples, whatever its
      // pieces are.
      {std::nullopt, false, 3 * large + 5, 16000, 0, {small, large - small, large, large, 5}},
      {3 * large + 5, false, 3 * large + 5, 100000, 0, {small, large - small, large, large, 5}},
      {2 * large, false, 2 * large, 3 * large, 0, {small, large - small, large}},
      // Bytes that are due early leave the next batch a shorter way.
      {std::nullopt,
       false,
       3 * small,
       40000,
       100,
       {40000, small - 40000, 54464, small - 54464, small}},
      // Small bodies.
      {10, false, 10, 3, 0, {10}},
      {small, false, small, 1000, 0, {small}},
      {small + 10, false, small + 10, 1000, 0, {small, 10}},
      {std::nullopt, false, 10, 3, 0, {10}},
      // The first bytes at once.
      {std::nullopt, true, 10, 4, 0, {4, 6}},
      {10, true, 10, 4, 0, {4, 6}},
      // A slow client: at least 16 KiB, and 100 ms between two batches.
      {std::nullopt, false, 60000, 1000, 10, {17000, 17000, 17000, 9000}},
      {std::nullopt, false, 60000, 20000, 100, {20000, 20000, 20000}},
      {std::nullopt, false, 60000, 20000, 99, {40000, 20000}},
      // One that fills the small buffer, but in 100 ms, keeps it.
      {std::nullopt, false, 4 * small, small, 100, {small, small, small, small}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(batches(row.known, row.at_once, row.body, row.piece, row.step_ms), row.sizes)
        << row.body << " by " << row.piece;
  }
}

TEST(GatherBuffer, CountsWhatItTook) {
  GatherBuffer buffer(std::nullopt, false, 0);
  std::string_view bytes = "12345";
  buffer.take(bytes);
  EXPECT_TRUE(bytes.empty());
  buffer.clear(0);
  bytes = "678";
  buffer.take(bytes);
  EXPECT_EQ(buffer.bytes(), "678");
  EXPECT_EQ(buffer.total(), 8U);
}

// The next upload of the thread uses the same memory.
TEST(GatherBuffer, TheLargeBufferIsRecycled) {
  const std::string bytes(small, 'x');
  const auto large_buffer_of = [&bytes](GatherBuffer& buffer) {
    std::string_view rest = bytes;
    buffer.take(rest);
    buffer.clear(0);
    rest = "x";
    buffer.take(rest);
    return buffer.bytes().data();
  };
  const char* first = nullptr;
  {
    GatherBuffer buffer(std::nullopt, false, 0);
    first = large_buffer_of(buffer);
  }
  GatherBuffer buffer(std::nullopt, false, 0);
  EXPECT_EQ(large_buffer_of(buffer), first);
  GatherBuffer other(std::nullopt, false, 0);
  EXPECT_NE(large_buffer_of(other), first);
}

TEST(GatherBuffer, AProcessHasFewLargeOnes) {
  std::vector<std::unique_ptr<GatherBuffer>> buffers;
  const std::string bytes(small + large, 'x');
  // Returns the size of the second batch.
  const auto second_batch = [&] {
    GatherBuffer& buffer =
        *buffers.emplace_back(std::make_unique<GatherBuffer>(std::nullopt, false, std::int64_t{0}));
    std::string_view rest = bytes;
    buffer.take(rest);
    buffer.clear(0);
    buffer.take(rest);
    return buffer.bytes().size();
  };
  for (unsigned i = 0; i < GatherLimits::large_count_max; ++i) {
    EXPECT_EQ(second_batch(), large - small);
  }
  EXPECT_EQ(second_batch(), small);
  buffers.erase(buffers.begin());
  EXPECT_EQ(second_batch(), large - small);
  EXPECT_EQ(second_batch(), small);
}

}  // namespace gather_buffer_test
}  // namespace h2server::content
