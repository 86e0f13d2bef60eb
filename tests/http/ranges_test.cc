#include "http/ranges.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace h2server::http {
namespace {

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
    {"bytes=0-1,5-6", 10000, whole, 0, 10000},
    {"bytes=0-1,-1", 10000, whole, 0, 10000},
    {"bytes=0-1,x", 10000, whole, 0, 10000},
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
  }
}

}  // namespace
}  // namespace h2server::http
