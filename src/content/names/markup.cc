#include "content/names/markup.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "base/text/percent_encoding.h"
#include "h2server/json.h"

namespace h2server::content {

namespace {

// Bytes that can't stand for themselves in HTML, in text and in double quotes.
constexpr std::array<bool, 256> is_special = [] {
  std::array<bool, 256> set{};
  for (const unsigned char c : std::string_view("&<>\"")) set[c] = true;
  return set;
}();

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

// Writes two digits. Returns the end.
char* put_two(char* at, unsigned number) {
  *at++ = static_cast<char>('0' + number / 10 % 10);
  *at++ = static_cast<char>('0' + number % 10);
  return at;
}

}  // namespace

void append_html(std::string& out, std::string_view text) {
  std::size_t from = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_special[static_cast<unsigned char>(text[at])]) continue;
    out.append(text.substr(from, at - from));
    out += reference(text[at]);
    from = at + 1;
  }
  out.append(text.substr(from));
}

void append_segment(std::string& out, std::string_view text) {
  base::append_percent_encoded(out, text, base::Slashes::encoded);
}

void append_json(std::string& out, std::string_view text) { out += json_string(text); }

void append_number(std::string& out, std::uint64_t number) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

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
  std::array<char, 20> text;
  char* at = put_two(put_two(text.data(), year / 100), year % 100);
  *at++ = '-';
  at = put_two(at, static_cast<unsigned>(date.month()));
  *at++ = '-';
  at = put_two(at, static_cast<unsigned>(date.day()));
  *at++ = 'T';
  at = put_two(at, static_cast<unsigned>(clock.hours().count()));
  *at++ = ':';
  at = put_two(at, static_cast<unsigned>(clock.minutes().count()));
  *at++ = ':';
  at = put_two(at, static_cast<unsigned>(clock.seconds().count()));
  *at++ = 'Z';
  out.append(text.data(), at);
}

}  // namespace h2server::content
