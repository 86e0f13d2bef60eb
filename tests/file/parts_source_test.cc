#include "file/parts_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/memory/memory_budget.h"
#include "content/support.h"
#include "file/support.h"

namespace h2server::file {
namespace parts_source_test {

using Parts = std::vector<PartsSource::Part>;

constexpr std::size_t piece_bytes = PartsSource::piece_bytes_max;

std::string noise(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 1;
  for (char& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

// Returns the body, or nullopt if the source fails.
std::optional<std::string> read_rest(PartsSource& source) {
  std::string all;
  for (;;) {
    const Result<std::string_view> piece = tests::run_now(source.read());
    if (!piece) return std::nullopt;
    if (piece->empty()) return all;
    EXPECT_LE(piece->size(), piece_bytes);
    all += *piece;
  }
}

std::string expected_of(const Parts& parts, std::string_view content) {
  std::string all;
  for (const PartsSource::Part& part : parts) {
    all += part.text;
    all +=
        content.substr(static_cast<std::size_t>(part.first), static_cast<std::size_t>(part.count));
  }
  return all;
}

class PartsOfFile : public testing::TestWithParam<bool> {
 protected:
  // Held in memory, or mapped.
  FileRef make(std::string_view content) {
    directory_.write_settled("a", content);
    if (GetParam()) return tests::map_file(directory_.path_of("a"));
    return tests::text_file(content, "a");
  }

  tests::TemporaryDirectory directory_;
};

TEST_P(PartsOfFile, AreTextsAndBytes) {
  const std::string content = noise(1000);
  const Parts parts{{"<", 990, 10}, {"text", 0, 1}, {"|", 0, 0}, {"all", 0, 1000}, {"end", 0, 0}};
  PartsSource source(make(content), parts);
  const std::string expected = expected_of(parts, content);
  EXPECT_EQ(source.size(), expected.size());
  // One piece, so one write of HTTP/1.1.
  const Result<std::string_view> piece = tests::run_now(source.read());
  ASSERT_TRUE(piece.has_value());
  EXPECT_TRUE(*piece == expected);
  EXPECT_EQ(read_rest(source), "");
}

// Texts and parts that end at, before and behind the end of a piece.
TEST_P(PartsOfFile, AreCutIntoPieces) {
  const std::string content = noise(3 * piece_bytes);
  const FileRef file = make(content);
  for (std::size_t text = 1; text <= 3; ++text) {
    for (std::size_t count = piece_bytes - 5; count <= piece_bytes + 2; ++count) {
      const Parts parts{{std::string(text, 't'), 1, count},
                        {std::string(text, 'u'), 2 * piece_bytes, piece_bytes},
                        {"end", 0, 0}};
      PartsSource source(file, parts);
      const std::string expected = expected_of(parts, content);
      EXPECT_EQ(source.size(), expected.size());
      EXPECT_TRUE(read_rest(source) == expected) << text << " and " << count;
    }
  }
}

TEST_P(PartsOfFile, MayBeLong) {
  const std::string content = noise(1'000'000);
  const Parts parts{{"a", 500'000, 500'000}, {"b", 0, 300'000}, {"end", 0, 0}};
  PartsSource source(make(content), parts);
  EXPECT_TRUE(read_rest(source) == expected_of(parts, content));
}

// Many may wait for clients that do not read.
TEST_P(PartsOfFile, HoldNoPieceBeforeTheFirstIsRead) {
  const std::string content = noise(3 * piece_bytes);
  const base::MemoryBudget& budget = base::MemoryBudget::of_process();
  const std::uint64_t before = budget.held(base::MemoryOwner::bodies);
  {
    PartsSource source(make(content), {{"a", 0, 2 * piece_bytes}, {"end", 0, 0}});
    EXPECT_EQ(source.bytes_held(), 0U);
    ASSERT_TRUE(tests::run_now(source.read()).has_value());
    EXPECT_EQ(source.bytes_held(), piece_bytes);
    EXPECT_EQ(budget.held(base::MemoryOwner::bodies), before + piece_bytes);
  }
  EXPECT_EQ(budget.held(base::MemoryOwner::bodies), before);
}

INSTANTIATE_TEST_SUITE_P(HeldAndMapped, PartsOfFile, testing::Bool(),
                         [](const auto& suite) { return suite.param ? "mapped" : "held"; });

class ChangedParts : public testing::Test {
 protected:
  ChangedParts() {
    directory_.write_settled("a", content_);
    source_.emplace(tests::map_file(path_), parts_);
  }

  void read_first_piece() {
    const Result<std::string_view> piece = tests::run_now(source_->read());
    ASSERT_TRUE(piece.has_value());
    EXPECT_EQ(piece->size(), piece_bytes);
  }

  tests::TemporaryDirectory directory_;
  const std::string path_ = directory_.path_of("a");
  const std::string content_ = noise(10 * piece_bytes);
  const Parts parts_{{"a", 5 * piece_bytes, piece_bytes}, {"b", 0, 10}, {"end", 0, 0}};
  std::optional<PartsSource> source_;
};

TEST_F(ChangedParts, FailIfTheFileIsEmptied) {
  read_first_piece();
  std::filesystem::resize_file(path_, 0);
  EXPECT_EQ(read_rest(*source_), std::nullopt);
}

TEST_F(ChangedParts, FailIfTheFileIsCutBehindThem) {
  read_first_piece();
  std::filesystem::resize_file(path_, content_.size() - 1);
  EXPECT_EQ(read_rest(*source_), std::nullopt);
}

TEST_F(ChangedParts, AreCompleteIfTheFileGrows) {
  read_first_piece();
  std::filesystem::resize_file(path_, content_.size() + 1);
  const std::string expected = expected_of(parts_, content_);
  EXPECT_TRUE(read_rest(*source_) == expected.substr(piece_bytes));
}

TEST_F(ChangedParts, FailIfTheFileIsRewritten) {
  read_first_piece();
  directory_.write("a", noise(content_.size()));
  EXPECT_EQ(read_rest(*source_), std::nullopt);
}

TEST_F(ChangedParts, FailBeforeTheFirstPiece) {
  directory_.write("a", "short");
  EXPECT_EQ(read_rest(*source_), std::nullopt);
}

// The last piece has no byte of the file.
TEST_F(ChangedParts, FailIfOnlyTheEndIsLeft) {
  const Parts parts{{"a", 0, piece_bytes - 1}, {"end", 0, 0}};
  source_.emplace(tests::map_file(path_), parts);
  read_first_piece();
  directory_.write("a", content_);
  EXPECT_EQ(read_rest(*source_), std::nullopt);
}

// The name leads to another file then; the opened one is as it was.
TEST_F(ChangedParts, AreCompleteIfTheFileIsReplacedOrRemoved) {
  read_first_piece();
  directory_.write("b", "other");
  std::filesystem::rename(directory_.path_of("b"), path_);
  const std::string expected = expected_of(parts_, content_);
  EXPECT_TRUE(read_rest(*source_) == expected.substr(piece_bytes));
}

}  // namespace parts_source_test
}  // namespace h2server::file
