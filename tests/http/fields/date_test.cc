#include "http/fields/date.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace h2server::http {
namespace date_test {

constexpr std::int64_t now_2026 = 1'790'000'000;  // 2026-09-21T14:13:20Z

std::string formatted(std::int64_t seconds) {
  std::array<char, date_size> out{};
  format_date(seconds, out);
  return {out.data(), out.size()};
}

struct Row {
  std::int64_t seconds;
  const char* text;
};

const std::vector<Row> rows = {
    {784111777, "Sun, 06 Nov 1994 08:49:37 GMT"},
    {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
    {-1, "Wed, 31 Dec 1969 23:59:59 GMT"},
    {951782400, "Tue, 29 Feb 2000 00:00:00 GMT"},
    {951868800, "Wed, 01 Mar 2000 00:00:00 GMT"},
    {1709251199, "Thu, 29 Feb 2024 23:59:59 GMT"},
    {2147483648, "Tue, 19 Jan 2038 03:14:08 GMT"},
    {4107542400, "Mon, 01 Mar 2100 00:00:00 GMT"},
    {253402300799, "Fri, 31 Dec 9999 23:59:59 GMT"},
    {-62167219200, "Sat, 01 Jan 0000 00:00:00 GMT"},
};

TEST(Date, FormatsAndParsesImfFixdate) {
  for (const auto& row : rows) {
    EXPECT_EQ(formatted(row.seconds), row.text);
    EXPECT_EQ(parse_date(row.text, now_2026), row.seconds) << row.text;
  }
}

TEST(Date, ClampsToFourDigitYears) {
  EXPECT_EQ(formatted(std::numeric_limits<std::int64_t>::max()), rows[8].text);
  EXPECT_EQ(formatted(std::numeric_limits<std::int64_t>::min()), rows[9].text);
}

TEST(Date, EveryDayOfFourHundredYearsSurvives) {
  for (std::int64_t day = -70'000; day < 80'000; ++day) {
    const std::int64_t seconds = day * 86'400 + (day * 7919 % 86'400 + 86'400) % 86'400;
    ASSERT_EQ(parse_date(formatted(seconds), now_2026), seconds) << formatted(seconds);
  }
}

TEST(Date, ParsesTheObsoleteFormats) {
  EXPECT_EQ(parse_date("Sunday, 06-Nov-94 08:49:37 GMT", now_2026), 784111777);
  EXPECT_EQ(parse_date("Sun Nov  6 08:49:37 1994", now_2026), 784111777);
  EXPECT_EQ(parse_date("Sun Nov 06 08:49:37 1994", now_2026), 784111777);
  EXPECT_EQ(parse_date("Wed Nov 16 08:49:37 1994", now_2026), 784111777 + 10 * 86400);
}

TEST(Date, LeapSecondIsTheNextMinute) {
  EXPECT_EQ(parse_date("Sat, 31 Dec 2016 23:59:60 GMT", now_2026), 1483228800);
}

TEST(Date, TwoDigitYearIsAtMostFiftyYearsAhead) {
  const auto year_of = [](const char* text, std::int64_t now) {
    const auto seconds = parse_date(text, now);
    return seconds ? formatted(*seconds).substr(12, 4) : "none";
  };
  EXPECT_EQ(year_of("Monday, 01-Jan-26 00:00:00 GMT", now_2026), "2026");
  EXPECT_EQ(year_of("Monday, 01-Jan-76 00:00:00 GMT", now_2026), "2076");
  EXPECT_EQ(year_of("Monday, 20-Sep-76 00:00:00 GMT", now_2026), "2076");
  EXPECT_EQ(year_of("Monday, 23-Sep-76 00:00:00 GMT", now_2026), "1976");
  EXPECT_EQ(year_of("Monday, 01-Jan-77 00:00:00 GMT", now_2026), "1977");
  EXPECT_EQ(year_of("Monday, 01-Jan-99 00:00:00 GMT", now_2026), "1999");
  EXPECT_EQ(year_of("Monday, 29-Feb-00 00:00:00 GMT", now_2026), "2000");
  const std::int64_t now_2095 = 3'950'000'000;
  EXPECT_EQ(year_of("Monday, 01-Jan-05 00:00:00 GMT", now_2095), "2105");
  EXPECT_EQ(year_of("Monday, 01-Jan-94 00:00:00 GMT", now_2095), "2094");
  EXPECT_EQ(year_of("Monday, 29-Feb-00 00:00:00 GMT", now_2095), "none");  // 2100 is no leap year
  parse_date("Monday, 01-Jan-05 00:00:00 GMT", std::numeric_limits<std::int64_t>::max());
  parse_date("Monday, 01-Jan-05 00:00:00 GMT", std::numeric_limits<std::int64_t>::min());
}

TEST(Date, RefusesWhatIsNoDate) {
  const std::vector<const char*> bad = {
      "",
      "Sun",
      "Sun,",
      "0",
      "784111777",
      "Sun, 06 Nov 1994 08:49:37",
      "Sun, 06 Nov 1994 08:49:37 UTC",
      "Sun, 06 Nov 1994 08:49:37 gmt",
      "Sun, 06 Nov 1994 08:49:37 GMT ",
      " Sun, 06 Nov 1994 08:49:37 GMT",
      "Mon, 06 Nov 1994 08:49:37 GMT",
      "sun, 06 Nov 1994 08:49:37 GMT",
      "Sun, 06 nov 1994 08:49:37 GMT",
      "Sun, 6 Nov 1994 08:49:37 GMT",
      "Sun, 06  Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 94 08:49:37 GMT",
      "Sun, 06 Nov 1994 24:00:00 GMT",
      "Sun, 06 Nov 1994 08:60:37 GMT",
      "Sun, 06 Nov 1994 08:49:61 GMT",
      "Sun, 06 Nov 1994 8:49:37 GMT",
      "Sun, +6 Nov 1994 08:49:37 GMT",
      "Sun, 00 Nov 1994 08:49:37 GMT",
      "Fri, 31 Nov 1994 08:49:37 GMT",
      "Wed, 29 Feb 2023 00:00:00 GMT",
      "Thu, 29 Feb 1900 00:00:00 GMT",
      "Sun, 06-Nov-94 08:49:37 GMT",
      "Sunday, 06 Nov 1994 08:49:37 GMT",
      "Sunday, 06-Nov-1994 08:49:37 GMT",
      "Sunday, 31-Nov-94 08:49:37 GMT",
      "Sundae, 06-Nov-94 08:49:37 GMT",
      "Sun Nov 6 08:49:37 1994",
      "Sun Nov  6 08:49:37 1994 GMT",
      "Mon Nov  6 08:49:37 1994",
      "Sun Nov  0 08:49:37 1994",
  };
  for (const auto* text : bad) EXPECT_FALSE(parse_date(text, now_2026)) << text;
}

TEST(Date, RefusesEveryPrefix) {
  for (const std::string text : {"Sun, 06 Nov 1994 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
                                 "Sunday, 06-Nov-94 08:49:37 GMT"}) {
    for (std::size_t size = 0; size < text.size(); ++size) {
      const std::vector<char> exact(text.begin(), text.begin() + static_cast<long>(size));
      EXPECT_FALSE(parse_date({exact.data(), exact.size()}, now_2026)) << text.substr(0, size);
    }
  }
}

}  // namespace date_test
}  // namespace h2server::http
