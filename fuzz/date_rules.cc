#include "date_rules.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>

#include "http/fields/date.h"
#include "require.h"

namespace h2server::fuzz {

namespace {

constexpr std::int64_t first_second = -62'167'219'200;  // of the year 0
constexpr std::int64_t last_second = 253'402'300'799;   // of the year 9999

constexpr std::array day_names = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                  "Thursday", "Friday", "Saturday"};
constexpr std::array month_names = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

enum class Format { imf_fixdate, rfc850, asctime };

// RFC 9110, 5.6.7.
std::string write(std::int64_t seconds, Format format) {
  const std::time_t time = seconds;
  std::tm tm{};
  require(gmtime_r(&time, &tm) != nullptr, "the C library knows the date");
  const char* const day = day_names[static_cast<std::size_t>(tm.tm_wday)];
  const char* const month = month_names[static_cast<std::size_t>(tm.tm_mon)];
  const int year = tm.tm_year + 1900;
  std::array<char, 64> text{};
  switch (format) {
    case Format::imf_fixdate:
      std::snprintf(text.data(), text.size(), "%.3s, %02d %s %04d %02d:%02d:%02d GMT", day,
                    tm.tm_mday, month, year, tm.tm_hour, tm.tm_min, tm.tm_sec);
      break;
    case Format::rfc850:
      std::snprintf(text.data(), text.size(), "%s, %02d-%s-%02d %02d:%02d:%02d GMT", day,
                    tm.tm_mday, month, year % 100, tm.tm_hour, tm.tm_min, tm.tm_sec);
      break;
    case Format::asctime:
      std::snprintf(text.data(), text.size(), "%.3s %s %2d %02d:%02d:%02d %04d", day, month,
                    tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, year);
      break;
  }
  return text.data();
}

std::string format(std::int64_t seconds) {
  std::array<char, http::date_size> text;
  http::format_date(seconds, text);
  return {text.data(), text.size()};
}

// Removes what a parser may read in two ways for the same date: the second 60, a zero before a
// one-digit day, and the day's name if the century is a guess.
std::string normalize(std::string text, Format kind) {
  if (kind == Format::asctime && text[8] == '0') text[8] = ' ';
  if (kind == Format::rfc850) text.erase(0, text.find(','));
  const std::size_t leap = text.find(":60");
  if (leap != std::string::npos) text.replace(leap, 3, ":59");
  return text;
}

}  // namespace

void check_date(std::string_view text, std::int64_t now) {
  const std::optional<std::int64_t> date = http::parse_date(text, now);
  if (!date) return;
  const Format kind = text[3] == ','   ? Format::imf_fixdate
                      : text[3] == ' ' ? Format::asctime
                                       : Format::rfc850;
  const bool leap = text.contains(":60");
  const std::int64_t written = leap ? *date - 1 : *date;
  require(written >= first_second && written <= last_second, "a date has a year of four digits");
  require_same(normalize(std::string(text), kind), normalize(write(written, kind), kind),
               "a date is read as the calendar has it");
  if (*date <= last_second) {
    require(http::parse_date(format(*date), now) == *date, "a date is written as it was read");
  }
  if (kind == Format::rfc850) {
    constexpr std::int64_t fifty_years = 50 * 31'556'952LL;  // of 365.2425 days
    require(*date <= now + fifty_years, "a date of two digits is 50 years ahead at most");
  }
}

void check_seconds(std::int64_t seconds) {
  const std::int64_t within = std::clamp(seconds, first_second, last_second);
  require_same(format(seconds), write(within, Format::imf_fixdate), "a date is the calendar's");
  for (const Format kind : {Format::imf_fixdate, Format::rfc850, Format::asctime}) {
    require(http::parse_date(write(within, kind), within) == within, "a date can be read");
  }
}

}  // namespace h2server::fuzz
