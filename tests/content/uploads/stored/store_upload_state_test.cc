#include "content/uploads/stored/store_upload_state.h"

#include <gtest/gtest.h>

namespace h2server::content {
namespace store_upload_state_test {

UploadState example() {
  UploadState state;
  state.description = {.length = 10,
                       .name = "a \"b\".txt",
                       .metadata = "filename YQ==",
                       .concatenation = Concatenation::none,
                       .parts = {},
                       .created_s = 1'700'000'000,
                       .declared_sha256 = std::string(64, 'a'),
                       .sha256 = {},
                       .checked = {}};
  state.parts = {.key = "files/a: b", .id = "x: y=="};
  state.finishing_s = 1'700'000'001;
  state.stored = true;
  return state;
}

TEST(UploadState, IsReadAsItWasWritten) {
  EXPECT_EQ(parse_upload_state(to_text(example())), example());
  UploadState fresh;
  fresh.description.name = "x";
  EXPECT_EQ(parse_upload_state(to_text(fresh)), fresh);
}

TEST(UploadState, ABeginningOfItIsNone) {
  const std::string text = to_text(example());
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {  // a last newline is not needed
    EXPECT_FALSE(parse_upload_state(text.substr(0, size))) << size;
  }
  for (const std::string_view wrong : {"stored: 2", "stored: ", "finishing: x", "parts-id x"}) {
    std::string other = text;
    const std::size_t at = other.find(wrong.substr(0, wrong.find(' ')).substr(0, 6));
    other.replace(at, other.find('\n', at) - at, wrong);
    EXPECT_FALSE(parse_upload_state(other)) << wrong;
  }
}

TEST(Tail, HasTheDigestsState) {
  net::Sha256State state;
  state.update(std::string(128, 'a'));
  for (const std::string_view bytes : {"", "x", "a\nb"}) {
    const std::optional<Tail> with = parse_tail(make_tail(state, bytes), 128);
    ASSERT_TRUE(with);
    ASSERT_TRUE(with->digest);
    EXPECT_EQ(with->digest->digits(), state.digits());
    EXPECT_EQ(with->digest->bytes(), 128U);
    EXPECT_EQ(with->bytes, bytes);
    const std::optional<Tail> without = parse_tail(make_tail(std::nullopt, bytes), 128);
    ASSERT_TRUE(without);
    EXPECT_FALSE(without->digest);
    EXPECT_EQ(without->bytes, bytes);
  }
}

TEST(Tail, OthersAreNone) {
  const std::string tail = make_tail(net::Sha256State(), "");
  for (std::size_t size = 0; size < tail.size(); ++size) {
    EXPECT_FALSE(parse_tail(tail.substr(0, size), 0)) << size;
  }
  EXPECT_FALSE(parse_tail(std::string(64, 'x') + "\n", 0));
  EXPECT_FALSE(parse_tail(tail.substr(0, 64) + "x", 0));
}

}  // namespace store_upload_state_test
}  // namespace h2server::content
