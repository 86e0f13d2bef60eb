#include "http/fields/date.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace h2server::http {
namespace {

constexpr std::int64_t day_seconds = 86'400;
constexpr std::int64_t first_second = -62'167'219'200;           // 0000-01-01T00:00:00Z
constexpr std::int64_t last_second = 253'402'300'799;            // 9999-12-31T23:59:59Z
constexpr std::int64_t fifty_years_seconds = 50 * 31'556'952LL;  // of 365.2425 days

constexpr std::array<std::string_view, 7> day_names = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                       "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> month_names = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

void write_digits(std::int64_t number, std::span<char> out) noexcept {
  for (std::size_t i = out.size(); i-- > 0; number /= 10) {
    out[i] = static_cast<char>('0' + number % 10);
  }
}

void write_text(std::string_view text, std::span<char> out) noexcept {
  std::copy(text.begin(), text.end(), out.begin());
}

// Returns days since 1970-01-01. A day past the end of its month overflows into the next one, so
// that dates can be compared before they are known to exist.
std::int64_t days_of(int year, unsigned month, unsigned day) noexcept {
  using namespace std::chrono;
  const sys_days first{std::chrono::year{year} / std::chrono::month{month} / 1};
  return first.time_since_epoch().count() + static_cast<std::int64_t>(day) - 1;
}

struct DateFields {
  unsigned weekday = 0;
  unsigned month = 1;
  unsigned day = 1;
  int year = 0;
  std::int64_t second_of_day = 0;
};

std::int64_t seconds_of(const DateFields& fields) noexcept {
  return days_of(fields.year, fields.month, fields.day) * day_seconds + fields.second_of_day;
}

bool exists(const DateFields& fields) noexcept {
  using namespace std::chrono;
  return (year{fields.year} / month{fields.month} / day{fields.day}).ok();
}

bool has_right_weekday(const DateFields& fields) noexcept {
  using namespace std::chrono;
  const sys_days date{days{days_of(fields.year, fields.month, fields.day)}};
  return weekday{date}.c_encoding() == fields.weekday;
}

// Reads a date from the left. After the first mismatch read_all() stays false, and the returned
// values are meaningless.
class DateReader {
 public:
  explicit DateReader(std::string_view text) : rest_(text) {}

  bool read_all() const { return fits_ && rest_.empty(); }

  void literal(std::string_view expected) {
    fits_ = fits_ && rest_.starts_with(expected);
    if (fits_) rest_.remove_prefix(expected.size());
  }

  int number(std::size_t digits) {
    fits_ = fits_ && rest_.size() >= digits;
    int value = 0;
    for (std::size_t i = 0; fits_ && i < digits; ++i) {
      fits_ = rest_[i] >= '0' && rest_[i] <= '9';
      value = value * 10 + (rest_[i] - '0');
    }
    if (fits_) rest_.remove_prefix(digits);
    return value;
  }

  // asctime pads a day of one digit with a space.
  int space_padded_number() {
    if (!rest_.starts_with(' ')) return number(2);
    literal(" ");
    return number(1);
  }

  unsigned short_day_name() { return name(day_names, 3); }
  unsigned long_day_name() { return name(day_names, std::string_view::npos); }
  unsigned month() { return name(month_names, 3) + 1; }

  // Reads "08:49:37" and returns the seconds since midnight.
  std::int64_t time_of_day() {
    const int hour = number(2);
    literal(":");
    const int minute = number(2);
    literal(":");
    const int second = number(2);
    fits_ = fits_ && hour <= 23 && minute <= 59 && second <= 60;
    return hour * 3600 + minute * 60 + second;
  }

 private:
  unsigned name(std::span<const std::string_view> names, std::size_t letters) {
    for (unsigned i = 0; fits_ && i < names.size(); ++i) {
      const auto expected = names[i].substr(0, letters);
      if (!rest_.starts_with(expected)) continue;
      rest_.remove_prefix(expected.size());
      return i;
    }
    fits_ = false;
    return 0;
  }

  std::string_view rest_;
  bool fits_ = true;
};

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::optional<std::int64_t> parse_imf_fixdate(std::string_view text) noexcept {
  DateReader reader(text);
  DateFields fields;
  fields.weekday = reader.short_day_name();
  reader.literal(", ");
  fields.day = static_cast<unsigned>(reader.number(2));
  reader.literal(" ");
  fields.month = reader.month();
  reader.literal(" ");
  fields.year = reader.number(4);
  reader.literal(" ");
  fields.second_of_day = reader.time_of_day();
  reader.literal(" GMT");
  if (!reader.read_all() || !exists(fields) || !has_right_weekday(fields)) return std::nullopt;
  return seconds_of(fields);
}

// "Sun Nov  6 08:49:37 1994"
std::optional<std::int64_t> parse_asctime(std::string_view text) noexcept {
  DateReader reader(text);
  DateFields fields;
  fields.weekday = reader.short_day_name();
  reader.literal(" ");
  fields.month = reader.month();
  reader.literal(" ");
  fields.day = static_cast<unsigned>(reader.space_padded_number());
  reader.literal(" ");
  fields.second_of_day = reader.time_of_day();
  reader.literal(" ");
  fields.year = reader.number(4);
  if (!reader.read_all() || !exists(fields) || !has_right_weekday(fields)) return std::nullopt;
  return seconds_of(fields);
}

int year_of(std::int64_t unix_seconds) noexcept {
  using namespace std::chrono;
  const sys_seconds time{seconds{std::clamp(unix_seconds, first_second, last_second)}};
  return static_cast<int>(year_month_day{floor<days>(time)}.year());
}

// "Sunday, 06-Nov-94 08:49:37 GMT". The day name is not checked against the date: the century is a
// guess, and may not be the one that the sender meant.
std::optional<std::int64_t> parse_rfc850(std::string_view text, std::int64_t now) noexcept {
  DateReader reader(text);
  DateFields fields;
  fields.weekday = reader.long_day_name();
  reader.literal(", ");
  fields.day = static_cast<unsigned>(reader.number(2));
  reader.literal("-");
  fields.month = reader.month();
  reader.literal("-");
  const int two_digits = reader.number(2);
  reader.literal(" ");
  fields.second_of_day = reader.time_of_day();
  reader.literal(" GMT");
  if (!reader.read_all()) return std::nullopt;

  // RFC 9110, 5.6.7: more than 50 years ahead means the same digits a century earlier.
  const std::int64_t latest = std::clamp(now, first_second, last_second) + fifty_years_seconds;
  fields.year = year_of(now) / 100 * 100 + 100 + two_digits;
  while (seconds_of(fields) > latest) fields.year -= 100;
  if (!exists(fields)) return std::nullopt;
  return seconds_of(fields);
}

}  // namespace

void format_date(std::int64_t unix_seconds, std::span<char, date_size> out) noexcept {
  using namespace std::chrono;
  const sys_seconds time{seconds{std::clamp(unix_seconds, first_second, last_second)}};
  const sys_days date = floor<days>(time);
  const year_month_day civil{date};
  const std::int64_t second = (time - date).count();

  write_text("Sun, 06 Nov 1994 08:49:37 GMT", out);
  write_text(day_names[weekday{date}.c_encoding()].substr(0, 3), out);
  write_digits(static_cast<unsigned>(civil.day()), out.subspan(5, 2));
  write_text(month_names[static_cast<unsigned>(civil.month()) - 1], out.subspan(8, 3));
  write_digits(static_cast<int>(civil.year()), out.subspan(12, 4));
  write_digits(second / 3600, out.subspan(17, 2));
  write_digits(second / 60 % 60, out.subspan(20, 2));
  write_digits(second % 60, out.subspan(23, 2));
}

std::optional<std::int64_t> parse_date(std::string_view text, std::int64_t now) noexcept {
  if (text.size() < 4) return std::nullopt;
  // The fourth byte tells the formats apart: "Sun,", "Sun " or "Sund".
  if (text[3] == ',') return parse_imf_fixdate(text);
  if (text[3] == ' ') return parse_asctime(text);
  return parse_rfc850(text, now);
}

}  // namespace h2server::http
