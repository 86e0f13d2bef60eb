#include "base/memory/buffer_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

namespace h2server::base {
namespace buffer_chain_test {

constexpr std::size_t block = BufferChain::block_bytes;

std::string text_of(const BufferChain& chain) {
  std::vector<iovec> pieces(100'000);
  std::string all;
  const std::size_t count = chain.gather(pieces);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_GT(pieces[i].iov_len, 0U);
    all.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
  }
  return all;
}

std::size_t pieces_of(const BufferChain& chain) {
  std::array<iovec, 100> pieces;
  return chain.gather(pieces);
}

TEST(BufferChain, BeginsEmpty) {
  BufferChain chain;
  EXPECT_TRUE(chain.empty());
  EXPECT_EQ(chain.front(), "");
  EXPECT_EQ(pieces_of(chain), 0U);
  chain.append("");
  chain.append_shared("", nullptr);
  chain.consume(0);
  EXPECT_TRUE(chain.empty());
}

TEST(BufferChain, JoinsWhatIsAppended) {
  BufferChain chain;
  chain.append("ab");
  chain.append("c");
  const std::span<char> room = chain.reserve(10);
  ASSERT_EQ(room.size(), 10U);
  std::ranges::copy(std::string_view("def"), room.begin());
  EXPECT_EQ(chain.size(), 3U);  // not counted until commit()
  chain.commit(3);
  EXPECT_EQ(chain.front(), "abcdef");
  EXPECT_EQ(pieces_of(chain), 1U);
}

TEST(BufferChain, TellsWhichPiecesLieInAFile) {
  const auto owner = std::make_shared<int>(0);
  const std::string mapped = "0123456789";
  BufferChain chain;
  chain.append("head");
  chain.append_mapped(std::string_view(mapped).substr(2, 6), 7, 2, owner);
  chain.append_shared("end", nullptr);
  chain.append_mapped("", 7, 0, owner);
  EXPECT_EQ(text_of(chain), "head234567end");  // the bytes are readable in memory, too
  EXPECT_EQ(chain.pieces(), 3U);
  std::array<iovec, 10> pieces;
  EXPECT_EQ(chain.gather_before_file(pieces), 1U);
  EXPECT_EQ(chain.front_file().size, 0U);
  chain.consume(5);
  EXPECT_EQ(chain.gather_before_file(pieces), 0U);
  const FileRange file = chain.front_file();
  EXPECT_EQ(file.descriptor, 7);
  EXPECT_EQ(file.offset, 3U);
  EXPECT_EQ(file.size, 5U);
  EXPECT_EQ(owner.use_count(), 2);
  chain.consume(5);
  EXPECT_EQ(owner.use_count(), 1);
  EXPECT_EQ(chain.front_file().size, 0U);
  EXPECT_EQ(chain.gather_before_file(pieces), 1U);
}

TEST(BufferChain, SpreadsOverBlocks) {
  BufferChain chain;
  const std::string bytes(3 * block + 5, 'x');
  chain.append("begin");
  chain.append(bytes);
  EXPECT_EQ(chain.size(), bytes.size() + 5);
  EXPECT_EQ(pieces_of(chain), 4U);
  EXPECT_TRUE(text_of(chain) == "begin" + bytes);
}

TEST(BufferChain, MayBeginWithASmallBlock) {
  constexpr std::size_t small = BufferChain::small_block_bytes;
  struct Row {
    std::size_t first, then, pieces;
  };
  for (const Row& row : {Row{1, small - 1, 1}, Row{1, small, 2}, Row{small, small, 2},
                         Row{small + 1, block - small - 1, 1}, Row{5, block + small - 5, 2},
                         Row{5, block + small - 4, 3}}) {
    BufferChain chain(BufferChain::Begin::small);
    chain.append(std::string(row.first, 'a'));
    chain.append(std::string(row.then, 'b'));
    EXPECT_EQ(pieces_of(chain), row.pieces) << row.first << " " << row.then;
    EXPECT_TRUE(text_of(chain) == std::string(row.first, 'a') + std::string(row.then, 'b'));
    chain.consume(chain.size());
    // The room that was asked for decides, not what is used of it.
    chain.commit(chain.reserve(small + 1).size() - small);
    chain.append(std::string(small, 'c'));
    EXPECT_EQ(pieces_of(chain), 1U);
  }
}

TEST(BufferChain, ReservesOneStretch) {
  BufferChain chain;
  chain.append(std::string(block - 10, 'x'));
  const std::span<char> room = chain.reserve(11);  // does not fit in the first block
  std::ranges::fill(room, 'y');
  chain.commit(11);
  EXPECT_EQ(pieces_of(chain), 2U);
  EXPECT_TRUE(text_of(chain) == std::string(block - 10, 'x') + std::string(11, 'y'));
  EXPECT_EQ(chain.reserve(block).size(), block);
}

TEST(BufferChain, SharesBytesAndLetsGoOfThemWhenTheyAreConsumed) {
  BufferChain chain;
  auto owner = std::make_shared<std::string>("shared bytes");
  const std::weak_ptr<std::string> watch = owner;
  chain.append("copied ");
  chain.append_shared(*owner, owner);
  chain.append(" copied");
  const char* const address = owner->data();
  owner.reset();
  EXPECT_EQ(text_of(chain), "copied shared bytes copied");
  chain.consume(7);
  EXPECT_EQ(chain.front().data(), address);  // not a copy
  chain.consume(11);
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(chain.front(), "s");
  chain.consume(1);
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(text_of(chain), " copied");
}

TEST(BufferChain, ClearLetsGoOfEverything) {
  auto owner = std::make_shared<std::string>("shared");
  {
    BufferChain chain;
    chain.append_shared(*owner, owner);
    chain.append("copied");
    chain.clear();
    EXPECT_TRUE(chain.empty());
    EXPECT_EQ(owner.use_count(), 1);
    chain.append_shared(*owner, owner);
    EXPECT_EQ(text_of(chain), "shared");
  }
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(BufferChain, GathersNoMorePiecesThanFit) {
  BufferChain chain;
  for (int i = 0; i < 5; ++i) {
    chain.append("a");
    chain.append_shared("b", nullptr);
  }
  std::array<iovec, 3> pieces;
  EXPECT_EQ(chain.gather(pieces), 3U);
  EXPECT_EQ(pieces_of(chain), 10U);
  EXPECT_EQ(text_of(chain), "ababababab");
}

TEST(BufferChain, UsesBlocksAgain) {
  BufferChain chain;
  chain.append("x");
  const char* const first = chain.front().data();
  chain.consume(1);
  BufferChain other;
  other.append("y");
  EXPECT_EQ(other.front().data(), first);
}

TEST(BufferChain, DoesNotUseABlockAgainThatIsStillRead) {
  BufferChain first;
  first.append("keep");
  const std::string_view kept = first.front();
  for (int i = 0; i < 100; ++i) {
    BufferChain other;
    other.append(std::string(block, 'x'));
    other.consume(block / 2);
  }
  EXPECT_EQ(kept, "keep");
}

// Applies random operations to a chain and to a string, and compares the two.
TEST(BufferChain, BehavesLikeAString) {
  const auto shared = std::make_shared<const std::string>(100'000, 's');
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto up_to = [&](std::size_t max) { return random() % (max + 1); };
    BufferChain chain;
    std::string model;
    char next = 'a';
    for (int step = 0; step < 400; ++step) {
      const std::size_t size = up_to(step % 7 == 0 ? 2 * block : 300);
      const std::string bytes(size, next = next == 'z' ? 'a' : static_cast<char>(next + 1));
      switch (up_to(4)) {
        case 0:
          chain.append(bytes);
          model += bytes;
          break;
        case 1: {
          const std::size_t part = std::min(size, block);
          const std::span<char> room = chain.reserve(part);
          const std::size_t used = up_to(part);
          std::ranges::copy(bytes.substr(0, used), room.begin());
          chain.commit(used);
          model.append(bytes, 0, used);
          break;
        }
        case 2: {
          const std::string_view part = std::string_view(*shared).substr(0, size);
          chain.append_shared(part, shared);
          model += part;
          break;
        }
        default: {
          const std::size_t used = up_to(std::min(model.size(), 2 * size));
          chain.consume(used);
          model.erase(0, used);
          break;
        }
      }
      ASSERT_EQ(chain.size(), model.size());
      ASSERT_TRUE(std::string_view(model).starts_with(chain.front()));
      ASSERT_EQ(chain.front().empty(), model.empty());
    }
    EXPECT_TRUE(text_of(chain) == model);
  }
  EXPECT_EQ(shared.use_count(), 1);
}

}  // namespace buffer_chain_test
}  // namespace h2server::base
