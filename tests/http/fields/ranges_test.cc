#include "http/fields/ranges.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace h2server::http {
namespace ranges_test {

using enum RangeVerdict;

struct Row {
  const char* field;
  std::uint64_t size;
  RangeVerdict verdict;
  std::uint64_t first;
  std::uint64_t count;
};

constexpr auto largest = std::numeric_limits<std::uint64_t>::max();

const std::vector<Row> rows = {
    {"bytes=0-499", 10000, partial, 0, 500},
    {"bytes=500-999", 10000, partial, 500, 500},
    {"bytes=-500", 10000, partial, 9500, 500},
    {"bytes=9500-", 10000, partial, 9500, 500},
    {"bytes=0-0", 10000, partial, 0, 1},
    {"bytes=0-", 10000, partial, 0, 10000},
    {"bytes=9999-9999", 10000, partial, 9999, 1},
    {"bytes=9999-20000", 10000, partial, 9999, 1},
    {"bytes=0-10000", 10000, partial, 0, 10000},
    {"bytes=-10000", 10000, partial, 0, 10000},
    {"bytes=-10001", 10000, partial, 0, 10000},
    {"bytes=000-0009", 10000, partial, 0, 10},
    {"BYTES=0-9", 10000, partial, 0, 10},
    {" bytes=0-9 ", 10000, partial, 0, 10},
    {"bytes= 0-9", 10000, partial, 0, 10},
    {"bytes=,0-9", 10000, partial, 0, 10},
    {"bytes=0-9 , ,", 10000, partial, 0, 10},
    {"bytes=0-0", 1, partial, 0, 1},

    {"bytes=10000-", 10000, unsatisfiable, 0, 0},
    {"bytes=10000-10001", 10000, unsatisfiable, 0, 0},
    {"bytes=-0", 10000, unsatisfiable, 0, 0},
    {"bytes=0-", 0, unsatisfiable, 0, 0},
    {"bytes=0-0", 0, unsatisfiable, 0, 0},
    {"bytes=-1", 0, unsatisfiable, 0, 0},

    {"", 10000, whole, 0, 10000},
    {"bytes", 10000, whole, 0, 10000},
    {"bytes=", 10000, whole, 0, 10000},
    {"bytes=,", 10000, whole, 0, 10000},
    {"bytes=-", 10000, whole, 0, 10000},
    {"bytes=5", 10000, whole, 0, 10000},
    {"bytes=9-5", 10000, whole, 0, 10000},
    {"bytes=20000-15000", 10000, whole, 0, 10000},
    {"bytes=a-5", 10000, whole, 0, 10000},
    {"bytes=5-a", 10000, whole, 0, 10000},
    {"bytes=--5", 10000, whole, 0, 10000},
    {"bytes=+1-5", 10000, whole, 0, 10000},
    {"bytes=0 - 5", 10000, whole, 0, 10000},
    {"bytes=0x0-5", 10000, whole, 0, 10000},
    {"bytes = 0-5", 10000, whole, 0, 10000},
    {"bytes:0-5", 10000, whole, 0, 10000},
    {"lines=0-5", 10000, whole, 0, 10000},
    {"bytess=0-5", 10000, whole, 0, 10000},
    {"bytes=a", 0, whole, 0, 0},

    {"bytes=5-18446744073709551615", 10, partial, 5, 5},
    {"bytes=5-18446744073709551616", 10, partial, 5, 5},
    {"bytes=5-99999999999999999999999999", 10, partial, 5, 5},
    {"bytes=-99999999999999999999999999", 10, partial, 0, 10},
    {"bytes=18446744073709551616-", 10, unsatisfiable, 0, 0},
    {"bytes=99999999999999999999999999-", largest, unsatisfiable, 0, 0},
    {"bytes=0-", largest, partial, 0, largest},
    {"bytes=18446744073709551614-", largest, partial, largest - 1, 1},
};

TEST(Ranges, Table) {
  for (const auto& row : rows) {
    const auto choice = choose_range(row.field, row.size);
    EXPECT_EQ(choice.verdict, row.verdict) << row.field << " of " << row.size;
    EXPECT_EQ(choice.range.first, row.first) << row.field << " of " << row.size;
    EXPECT_EQ(choice.range.count, row.count) << row.field << " of " << row.size;
    EXPECT_TRUE(choice.parts.empty()) << row.field << " of " << row.size;
  }
}

// Returns the status and what a response with it has: "200", "206 0-1", "206 0-1,500-999", "416".
std::string outcome(const std::string& field, std::uint64_t size) {
  const RangeChoice choice = choose_range(field, size);
  std::string text;
  const auto add = [&text](const ByteRange& range) {
    text += text.empty() ? "206 " : ",";
    text += std::to_string(range.first) + "-" + std::to_string(range.first + range.count - 1);
  };
  switch (choice.verdict) {
    case whole:
      return "200";
    case unsatisfiable:
      return "416";
    case partial:
      add(choice.range);
      return text;
    case several:
      EXPECT_GE(choice.parts.size(), 2U) << field;
      for (const ByteRange& range : choice.parts) add(range);
      return text;
  }
  return text;
}

struct ListRow {
  const char* field;
  std::uint64_t size;
  const char* outcome;
};

const std::vector<ListRow> list_rows = {
    // RFC 9110, 14.1.2.
    {"bytes=0-0,-1", 10000, "206 0-0,9999-9999"},
    {"bytes= 0-999, 4500-5499, -1000", 10000, "206 0-999,4500-5499,9000-9999"},
    {"bytes=500-600,601-999", 10000, "206 500-999"},
    {"bytes=500-700,601-999", 10000, "206 500-999"},
    {"bytes=500-999,7000-7999", 8000, "206 500-999,7000-7999"},

    // RFC 9110, 14.4 and 15.3.7.1.
    {"bytes=42-1233", 1234, "206 42-1233"},
    {"bytes=0-499", 1234, "206 0-499"},
    {"bytes=500-999", 1234, "206 500-999"},
    {"bytes=500-", 1234, "206 500-1233"},
    {"bytes=-500", 1234, "206 734-1233"},
    {"bytes=21010-", 47022, "206 21010-47021"},
    {"bytes=1234-", 1234, "416"},

    // The order of the field (15.3.7.2).
    {"bytes=5000-5001,0-1", 10000, "206 5000-5001,0-1"},
    {"bytes=-1,0-0", 10000, "206 9999-9999,0-0"},
    {"bytes=9000-,4000-4999,0-9", 10000, "206 9000-9999,4000-4999,0-9"},
    {"bytes=5000-5009,0-9,5010-5019", 10000, "206 5000-5019,0-9"},
    {"bytes=0-9,5010-5019,5000-5009", 10000, "206 0-9,5000-5019"},
    {"bytes=5010-5019,0-9,5000-5009,-1", 10000, "206 5000-5019,0-9,9999-9999"},

    // Merged: overlapping, equal, nested, touching, 80 bytes apart.
    {"bytes=0-99,50-149", 10000, "206 0-149"},
    {"bytes=50-149,0-99", 10000, "206 0-149"},
    {"bytes=0-99,0-99,0-99", 10000, "206 0-99"},
    {"bytes=0-99,10-19,20-29", 10000, "206 0-99"},
    {"bytes=10-19,0-99", 10000, "206 0-99"},
    {"bytes=0-9,200-209,5-300", 10000, "206 0-300"},
    {"bytes=0-9,10-19", 10000, "206 0-19"},
    {"bytes=0-9,90-99", 10000, "206 0-99"},
    {"bytes=0-9,91-99", 10000, "206 0-9,91-99"},
    {"bytes=91-99,0-9", 10000, "206 91-99,0-9"},
    {"bytes=0-1,5-6", 10, "206 0-6"},
    {"bytes=9999-,-1", 10000, "206 9999-9999"},

    // What can't be satisfied is dropped, and does not count as a second range.
    {"bytes=0-9,10000-", 10000, "206 0-9"},
    {"bytes=-0,0-9", 10000, "206 0-9"},
    {"bytes=20000-20001,0-9,10000-,500-509", 10000, "206 0-9,500-509"},
    {"bytes=0-,20000-", 10000, "206 0-9999"},
    {"bytes=10000-,20000-30000", 10000, "416"},
    {"bytes=-0,-0", 10000, "416"},
    {"bytes=0-0,-1", 0, "416"},

    // One invalid element makes the field invalid.
    {"bytes=0-1,x", 10000, "200"},
    {"bytes=x,0-1", 10000, "200"},
    {"bytes=0-1,5", 10000, "200"},
    {"bytes=0-1,-", 10000, "200"},
    {"bytes=0-1,9-5", 10000, "200"},
    {"bytes=20000-,9-5", 10000, "200"},
    {"bytes=0-1;500-501", 10000, "200"},
    {"bytes=0-1 500-501", 10000, "200"},
    {"bytes=0-1,bytes=500-501", 10000, "200"},
    {"lines=0-1,500-501", 10000, "200"},

    // Whitespace and empty elements (5.6.1.2).
    {"bytes=0-1 , \t500-501", 10000, "206 0-1,500-501"},
    {"bytes=\t0-1,\t500-501\t", 10000, "206 0-1,500-501"},
    {"bytes=,,0-1,, ,500-501,", 10000, "206 0-1,500-501"},
    {"bytes=0-1,,", 10000, "206 0-1"},
    {"bytes=0-1, 500 - 501", 10000, "200"},
    {"bytes=, ,", 10000, "200"},

    // Several ranges that cover everything, or save nothing.
    {"bytes=0-4999,5000-", 10000, "200"},
    {"bytes=5000-,0-4999", 10000, "200"},
    {"bytes=0-,0-", 10000, "200"},
    {"bytes=0-,0-9,50-59", 10000, "200"},
    {"bytes=0-0,-1", 10, "200"},
    {"bytes=0-99,181-261", 262, "200"},
    {"bytes=0-99,260-269", 270, "200"},
    {"bytes=0-99,261-270", 271, "206 0-99,261-270"},

    {"bytes=0-1,5000-99999999999999999999999999", 10000, "206 0-1,5000-9999"},
    {"bytes=0-1,99999999999999999999999999-", 10000, "206 0-1"},
    {"bytes=0-1,18446744073709551614-", largest,
     "206 0-1,18446744073709551614-18446744073709551614"},
    {"bytes=18446744073709551600-,18446744073709551500-18446744073709551510", largest,
     "206 18446744073709551600-18446744073709551614,18446744073709551500-18446744073709551510"},
    {"bytes=0-18446744073709551600,1-", largest, "200"},
};

TEST(Ranges, Lists) {
  for (const auto& row : list_rows) {
    EXPECT_EQ(outcome(row.field, row.size), row.outcome) << row.field << " of " << row.size;
  }
}

// Returns a field with `count` ranges of `length` bytes, each `step` bytes behind the last.
std::string many(std::size_t count, std::uint64_t length, std::uint64_t step) {
  std::string field = "bytes=";
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) field += ',';
    field += std::to_string(i * step) + "-" + std::to_string(i * step + length - 1);
  }
  return field;
}

// RFC 9110, 17.15.
TEST(Ranges, ManyAreBounded) {
  constexpr std::uint64_t size = 10'000'000;
  EXPECT_EQ(choose_range(many(64, 1, 1000), size).parts.size(), 64U);
  EXPECT_EQ(outcome(many(65, 1, 1000), size), "200");
  EXPECT_EQ(outcome(many(200, 10, 10), size), "206 0-1999");
  EXPECT_EQ(outcome(many(201, 10, 10), size), "200");
  EXPECT_EQ(outcome(many(1000, 10, 10), size), "200");
  EXPECT_EQ(outcome(many(1000, 1, 1000), size), "200");
  EXPECT_EQ(outcome(many(200, 1, 1000) + ",,,,", size), "200");
  EXPECT_EQ(outcome(many(200, 10, 10) + ",,,,", size), "206 0-1999");
  // Invalid behind the last element that counts, or unsatisfiable.
  EXPECT_EQ(outcome(many(200, 10, 10) + ",x", size), "200");
  EXPECT_EQ(outcome(many(200, 10, 10) + ",20000000-", size), "200");
  std::string descending = "bytes=";
  for (int i = 199; i >= 0; --i) descending += std::to_string(i) + "-,";
  EXPECT_EQ(outcome(descending, size), "200");
}

// Whatever is asked for, the parts and their overhead are smaller than the whole.
TEST(Ranges, PartsNeverCostMoreThanTheWhole) {
  std::size_t multipart = 0;
  for (const std::uint64_t size : std::array<std::uint64_t, 4>{100, 1000, 5000, 20000}) {
    for (std::size_t count = 2; count <= 70; ++count) {
      for (const std::uint64_t step : std::array<std::uint64_t, 5>{1, 80, 82, 150, 400}) {
        const RangeChoice choice = choose_range(many(count, 1 + step / 3, step), size);
        std::uint64_t sum = choice.parts.size() * RangeLimits::part_overhead_bytes;
        for (const ByteRange& range : choice.parts) sum += range.count;
        EXPECT_LT(sum, size) << count << " of " << size << " by " << step;
        multipart += choice.verdict == several ? 1U : 0U;
      }
    }
  }
  EXPECT_GT(multipart, 100U);
}

}  // namespace ranges_test
}  // namespace h2server::http
