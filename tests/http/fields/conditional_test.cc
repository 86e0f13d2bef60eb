#include "http/fields/conditional.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace h2server::http {
namespace conditional_test {

using enum PreconditionResult;

constexpr std::int64_t modified = 784111777;
constexpr std::int64_t now = 1'790'000'000;
constexpr const char* same_date = "Sun, 06 Nov 1994 08:49:37 GMT";
constexpr const char* earlier = "Sun, 06 Nov 1994 08:49:36 GMT";
constexpr const char* later = "Sun, 06 Nov 1994 08:49:38 GMT";
constexpr Validators validators{.etag = "\"abc\"", .modified = modified};

PreconditionResult get(const Preconditions& preconditions) {
  return evaluate(preconditions, validators, true, now);
}

PreconditionResult put(const Preconditions& preconditions) {
  return evaluate(preconditions, validators, false, now);
}

struct TagRow {
  const char* field;
  bool strong;  // matches "abc" strongly
  bool weak;
};

const std::vector<TagRow> tag_rows = {
    {"\"abc\"", true, true},
    {"W/\"abc\"", false, true},
    {"*", true, true},
    {" * ", true, true},
    {" \"abc\" ", true, true},
    {"\"x\", \"abc\"", true, true},
    {"\"x\",\"abc\",\"y\"", true, true},
    {"\"x\" ,\t\"abc\"", true, true},
    {",, \"abc\" ,,", true, true},
    {"W/\"x\", W/\"abc\"", false, true},
    {"W/\"abc\", \"abc\"", true, true},
    {"\"x,\\\", \"abc\"", true, true},  // a backslash does not escape in a tag
    {"\"\"", false, false},
    {"\"ABC\"", false, false},
    {"\"x\"", false, false},
    {"\"a,\"", false, false},
    {"\"x,abc,y\"", false, false},
    {"\",\", \"abc\"", true, true},
    {"", false, false},
    {",", false, false},
    {"abc", false, false},
    {"\"abc", false, false},
    {"abc\"", false, false},
    {"'abc'", false, false},
    {"w/\"abc\"", false, false},
    {"W/ \"abc\"", false, false},
    {"W/abc", false, false},
    {"W/", false, false},
    {"\"abc\", *", false, false},
    {"*, \"abc\"", false, false},
    {"**", false, false},
    {"\"abc\" \"x\"", false, false},
    {"\"abc\"x", false, false},
    {"\"abc\", x", false, false},
    {"\"abc\", \"x", false, false},
    {"\"abc\", \"a b\"", false, false},
    {"\"abc\", \"a\x7f\"", false, false},
    {"\"\xc3\xa9\", \"abc\"", true, true},
};

TEST(Conditional, EntityTagLists) {
  for (const auto& row : tag_rows) {
    EXPECT_EQ(put({.if_match = row.field}), row.strong ? proceed : failed) << row.field;
    EXPECT_EQ(get({.if_match = row.field}), row.strong ? proceed : failed) << row.field;
    EXPECT_EQ(get({.if_none_match = row.field}), row.weak ? not_modified : proceed) << row.field;
    EXPECT_EQ(put({.if_none_match = row.field}), row.weak ? failed : proceed) << row.field;
  }
}

// RFC 9110, 8.8.3.2.
TEST(Conditional, Comparison) {
  struct Row {
    const char* current;
    const char* field;
    bool strong;
    bool weak;
  };
  const std::vector<Row> rows = {
      {"W/\"1\"", "W/\"1\"", false, true}, {"W/\"1\"", "W/\"2\"", false, false},
      {"W/\"1\"", "\"1\"", false, true},   {"\"1\"", "W/\"1\"", false, true},
      {"\"1\"", "\"1\"", true, true},
  };
  for (const Row& row : rows) {
    const Validators current{.etag = row.current, .modified = modified};
    EXPECT_EQ(evaluate({.if_match = row.field}, current, false, now),
              row.strong ? proceed : failed);
    EXPECT_EQ(evaluate({.if_none_match = row.field}, current, true, now),
              row.weak ? not_modified : proceed);
    EXPECT_EQ(range_applies({.if_range = row.field}, current, now), row.strong);
  }
}

// RFC 9110, 13.1.1 and 13.1.2.
TEST(Conditional, ExamplesOfLists) {
  const Validators xyzzy{.etag = "\"xyzzy\"", .modified = modified};
  for (const char* const field : {"\"xyzzy\"", "\"xyzzy\", \"r2d2xxxx\", \"c3piozzzz\"", "*"}) {
    EXPECT_EQ(evaluate({.if_match = field}, xyzzy, false, now), proceed) << field;
    EXPECT_EQ(evaluate({.if_match = field}, {.etag = "\"c3po\"", .modified = 0}, false, now),
              field == std::string_view("*") ? proceed : failed)
        << field;
  }
  for (const char* const field :
       {"\"xyzzy\"", "W/\"xyzzy\"", "\"xyzzy\", \"r2d2xxxx\", \"c3piozzzz\"",
        "W/\"xyzzy\", W/\"r2d2xxxx\", W/\"c3piozzzz\"", "*"}) {
    EXPECT_EQ(evaluate({.if_none_match = field}, xyzzy, true, now), not_modified) << field;
    EXPECT_EQ(evaluate({.if_none_match = field}, xyzzy, false, now), failed) << field;
  }
}

TEST(Conditional, WithoutEtagOnlyTheAsteriskMatches) {
  const Validators none{.etag = "", .modified = modified};
  EXPECT_EQ(evaluate({.if_match = "\"\""}, none, false, now), failed);
  EXPECT_EQ(evaluate({.if_match = "*"}, none, false, now), proceed);
  EXPECT_EQ(evaluate({.if_none_match = "\"\""}, none, true, now), proceed);
  EXPECT_EQ(evaluate({.if_none_match = "*"}, none, true, now), not_modified);
}

TEST(Conditional, Dates) {
  EXPECT_EQ(get({}), proceed);
  EXPECT_EQ(get({.if_modified_since = same_date}), not_modified);
  EXPECT_EQ(get({.if_modified_since = "Sunday, 06-Nov-94 08:49:37 GMT"}), not_modified);
  EXPECT_EQ(get({.if_modified_since = later}), not_modified);
  EXPECT_EQ(get({.if_modified_since = earlier}), proceed);
  EXPECT_EQ(get({.if_modified_since = "yesterday"}), proceed);
  EXPECT_EQ(put({.if_modified_since = same_date}), proceed);
  EXPECT_EQ(put({.if_unmodified_since = same_date}), proceed);
  EXPECT_EQ(put({.if_unmodified_since = later}), proceed);
  EXPECT_EQ(put({.if_unmodified_since = earlier}), failed);
  EXPECT_EQ(get({.if_unmodified_since = earlier}), failed);
  EXPECT_EQ(put({.if_unmodified_since = "yesterday"}), proceed);
}

// RFC 9110, 13.2.2.
TEST(Conditional, Precedence) {
  // If-Match makes If-Unmodified-Since irrelevant.
  EXPECT_EQ(put({.if_match = "\"abc\"", .if_unmodified_since = earlier}), proceed);
  EXPECT_EQ(put({.if_match = "\"x\"", .if_unmodified_since = later}), failed);
  // If-None-Match makes If-Modified-Since irrelevant.
  EXPECT_EQ(get({.if_none_match = "\"x\"", .if_modified_since = later}), proceed);
  EXPECT_EQ(get({.if_none_match = "\"abc\"", .if_modified_since = earlier}), not_modified);
  EXPECT_EQ(get({.if_none_match = "broken", .if_modified_since = later}), proceed);
  // If-Match and If-Unmodified-Since are evaluated first.
  EXPECT_EQ(get({.if_match = "\"x\"", .if_none_match = "\"abc\""}), failed);
  EXPECT_EQ(get({.if_match = "\"abc\"", .if_none_match = "\"abc\""}), not_modified);
  EXPECT_EQ(get({.if_modified_since = later, .if_unmodified_since = earlier}), failed);
  EXPECT_EQ(get({.if_match = "*", .if_modified_since = later}), not_modified);
}

TEST(Conditional, IfRange) {
  const auto applies = [](const char* value) {
    return range_applies({.if_range = value}, validators, now);
  };
  EXPECT_TRUE(range_applies({}, validators, now));
  EXPECT_TRUE(applies("\"abc\""));
  EXPECT_TRUE(applies(" \"abc\" "));
  EXPECT_TRUE(applies(same_date));
  EXPECT_FALSE(applies("W/\"abc\""));
  EXPECT_FALSE(applies("\"x\""));
  EXPECT_FALSE(applies("\"abc\", \"x\""));
  EXPECT_FALSE(applies("\"x\", \"abc\""));
  EXPECT_FALSE(applies("*"));
  EXPECT_FALSE(applies(""));
  EXPECT_FALSE(applies(later));
  EXPECT_FALSE(applies(earlier));
  EXPECT_FALSE(applies("yesterday"));
  EXPECT_FALSE(range_applies({.if_range = "\"\""}, {.etag = "", .modified = 0}, now));
  // Modified in the current second: the date is not a strong validator yet.
  EXPECT_FALSE(range_applies({.if_range = same_date}, validators, modified));
  EXPECT_TRUE(range_applies({.if_range = same_date}, validators, modified + 1));
}

TEST(Conditional, StrongTags) {
  for (const std::string_view text : {"\"a\"", "\"\"", "\"W/\"", "\"\xc3\xbc\""}) {
    EXPECT_TRUE(is_strong_tag(text)) << text;
  }
  for (const std::string_view text :
       {"", "a", "*", "\"", "W/\"a\"", "\"a\"b\"", "\"a\", \"b\"", " \"a\"", "\"a b\""}) {
    EXPECT_FALSE(is_strong_tag(text)) << text;
  }
}

}  // namespace conditional_test
}  // namespace h2server::http
