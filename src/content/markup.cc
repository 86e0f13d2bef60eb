#include "content/markup.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "base/text.h"
#include "h2server/json.h"

namespace h2server::content {

namespace {

// Of HTML, in text and in double quotes.
constexpr std::string_view special = "&<>\"";

std::string_view reference(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    default:
      return "&quot;";
  }
}

bool is_unreserved(char c) {
  return base::is_alphanumeric(c) || std::string_view("-._~").contains(c);
}

void append_number(std::string& out, std::uint64_t number) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

void append_two(std::string& out, unsigned number) {
  out += static_cast<char>('0' + number / 10 % 10);
  out += static_cast<char>('0' + number % 10);
}

}  // namespace

void append_html(std::string& out, std::string_view text) {
  for (;;) {
    const std::size_t at = text.find_first_of(special);
    out.append(text.substr(0, at));
    if (at == text.npos) return;
    out.append(reference(text[at]));
    text.remove_prefix(at + 1);
  }
}

void append_segment(std::string& out, std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte / 16];
    out += digits[byte % 16];
  }
}

void append_json(std::string& out, std::string_view text) { out += json_string(text); }

void append_size(std::string& out, std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> units = {" KiB", " MiB", " GiB", " TiB", " PiB"};
  if (bytes < 1024) {
    append_number(out, bytes);
    out += " B";
    return;
  }
  std::size_t unit = 0;
  std::uint64_t divisor = 1024;
  while (bytes / divisor >= 1024 && unit + 1 < units.size()) {
    divisor *= 1024;
    ++unit;
  }
  append_number(out, bytes / divisor);
  out += '.';
  out += static_cast<char>('0' + bytes % divisor / (divisor / 1024) * 10 / 1024);
  out += units[unit];
}

void append_time(std::string& out, std::int64_t unix_seconds) {
  using namespace std::chrono;                     // NOLINT: names of dates
  constexpr std::int64_t first = -62'167'219'200;  // 0000-01-01T00:00:00Z
  constexpr std::int64_t last = 253'402'300'799;   // 9999-12-31T23:59:59Z
  const sys_seconds time{seconds(std::clamp(unix_seconds, first, last))};
  const sys_days day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss<seconds> clock(time - day);
  const auto year = static_cast<unsigned>(static_cast<int>(date.year()));
  append_two(out, year / 100);
  append_two(out, year % 100);
  out += '-';
  append_two(out, static_cast<unsigned>(date.month()));
  out += '-';
  append_two(out, static_cast<unsigned>(date.day()));
  out += 'T';
  append_two(out, static_cast<unsigned>(clock.hours().count()));
  out += ':';
  append_two(out, static_cast<unsigned>(clock.minutes().count()));
  out += ':';
  append_two(out, static_cast<unsigned>(clock.seconds().count()));
  out += 'Z';
}

}  // namespace h2server::content
