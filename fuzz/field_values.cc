#include "field_values.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "date_rules.h"
#include "http/fields/ranges.h"
#include "http/fields/syntax.h"
#include "http/h2/priority.h"
#include "multipart_rules.h"
#include "pieces.h"
#include "precondition_rules.h"
#include "require.h"

namespace h2server::fuzz {

namespace {

using http::RangeChoice;
using http::RangeLimits;
using http::RangeVerdict;

// Derives a number from the end of the value.
std::uint64_t number_of(std::string_view value) {
  std::uint64_t number = 0;
  for (const char c : value.substr(value.size() - std::min<std::size_t>(value.size(), 8))) {
    number = number << 8 | static_cast<unsigned char>(c);
  }
  return number;
}

void check_inside(const http::ByteRange& range, std::uint64_t size) {
  require(range.count > 0 && range.first < size, "a range begins inside");
  require(range.count <= size - range.first, "a range ends inside");
}

std::string spelled(const http::ByteRange& range) {
  return std::to_string(range.first) + '-' + std::to_string(range.first + range.count - 1);
}

// Returns true if another part costs more than the bytes between the ranges.
bool to_merge(const http::ByteRange& one, const http::ByteRange& other) {
  const auto& [before, after] = std::minmax(
      one, other, [](const auto& left, const auto& right) { return left.first < right.first; });
  const std::uint64_t end = before.first + before.count;
  return after.first <= end || after.first - end <= RangeLimits::part_overhead_bytes;
}

// Checks several ranges of any text (RFC 9110, 15.3.7.2 and 17.15). Returns them as a field.
std::string check_parts(const std::vector<http::ByteRange>& parts, std::uint64_t size) {
  require(parts.size() >= 2 && parts.size() <= RangeLimits::parts_max, "a few parts");
  std::string again = "bytes=";
  std::uint64_t left = size;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    check_inside(parts[i], size);
    for (std::size_t j = 0; j < i; ++j) require(!to_merge(parts[i], parts[j]), "parts are apart");
    require(parts[i].count < left, "parts are less than the whole");
    left -= parts[i].count;
    again += (i == 0 ? "" : ",") + spelled(parts[i]);
  }
  require(left > parts.size() * RangeLimits::part_overhead_bytes, "parts cost less than the whole");
  return again;
}

// Checks RFC 9110, 14.1.2 for any text.
void check_range_field(std::string_view value, std::uint64_t size) {
  const auto [verdict, range, parts] = http::choose_range(value, size);
  require(parts.empty() || verdict == RangeVerdict::several, "only several have parts");
  std::string again = "bytes=";
  switch (verdict) {
    case RangeVerdict::whole:
      require(range.first == 0 && range.count == size, "the whole is all of it");
      return;
    case RangeVerdict::unsatisfiable:
      require(range.count == 0, "what cannot be satisfied is empty");
      return;
    case RangeVerdict::several:
      require(range.count == 0, "several are in the parts");
      again = check_parts(parts, size);
      break;
    case RangeVerdict::partial:
      check_inside(range, size);
      again += spelled(range);
      break;
  }
  const RangeChoice second = http::choose_range(again, size);
  require(second.verdict == verdict && second.range == range && second.parts == parts,
          "ranges that are written again are the same");
}

// Checks a list of three ranges by the bytes that it names. `number` chooses them, near each other.
void check_range_list(std::uint64_t number, std::uint64_t size) {
  std::vector<http::ByteRange> named;
  std::string list;
  for (int i = 0; i < 3; ++i, number >>= 18) {
    const std::uint64_t first = number & 0x3ff;
    const std::uint64_t count = 1 + (number >> 10 & 0xff);
    list += spelled({first, count}) + " ,, ";
    if (first < size) named.push_back({first, std::min(count, size - first)});
  }
  const RangeChoice choice = http::choose_range("bytes=" + list, size);
  require((choice.verdict == RangeVerdict::unsatisfiable) == named.empty(), "none is inside");
  const auto sent = [&choice](std::uint64_t position) {
    const auto has = [position](const http::ByteRange& range) {
      return position >= range.first && position - range.first < range.count;
    };
    return has(choice.range) || std::ranges::any_of(choice.parts, has);
  };
  for (const http::ByteRange& range : named) {
    require(sent(range.first) && sent(range.first + range.count - 1), "all that is asked for");
  }
  if (choice.verdict != RangeVerdict::several) return;
  const auto is_first_of = [&named](const http::ByteRange& part) {
    return std::ranges::find_if(named, [&part](const http::ByteRange& range) {
      return range.first >= part.first && range.first - part.first < part.count;
    });
  };
  require(std::ranges::is_sorted(choice.parts, {}, is_first_of), "in the order of the field");
}

// Checks ranges made of known numbers.
void check_ranges(std::uint64_t first, std::uint64_t last, std::uint64_t size) {
  const auto choose = [size](const std::string& range) {
    return http::choose_range("bytes=" + range, size);
  };
  const RangeChoice both = choose(std::to_string(first) + '-' + std::to_string(last));
  const RangeChoice open = choose(std::to_string(first) + '-');
  const RangeChoice suffix = choose('-' + std::to_string(last));
  const auto expected = [size](std::uint64_t from) {
    return from < size ? RangeVerdict::partial : RangeVerdict::unsatisfiable;
  };
  require(both.verdict == (last < first ? RangeVerdict::whole : expected(first)), "first-last");
  require(open.verdict == expected(first), "first-");
  require(suffix.verdict ==
              (last > 0 && size > 0 ? RangeVerdict::partial : RangeVerdict::unsatisfiable),
          "-last");
  if (both.verdict == RangeVerdict::partial) {
    require(both.range.first == first, "first-last begins there");
    require(both.range.count - 1 == std::min(last, size - 1) - first, "first-last ends there");
  }
  if (suffix.verdict == RangeVerdict::partial) {
    require(suffix.range.count == std::min(last, size), "-last is that many bytes");
    require(suffix.range.first == size - suffix.range.count, "-last ends at the end");
  }
}

void check_range(std::string_view value) {
  const std::uint64_t number = number_of(value);
  constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t size :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1000}, number, largest}) {
    check_range_field(value, size);
    check_range_field(std::string("bytes=").append(value), size);
    check_ranges(number >> 40, number & 0xff'ffff, size);
    check_range_list(number, size);
  }
}

// RFC 9218, 4; RFC 8941, 3.2.
void check_priority(std::string_view value) {
  using http::h2::parse_priority;
  using http::h2::Priority;
  const Priority priority = parse_priority(value);
  require(priority.urgency < Priority::urgencies, "an urgency is one of eight");
  const std::string again =
      "u=" + std::to_string(priority.urgency) + (priority.incremental ? ", i" : ", i=?0");
  require(parse_priority(again) == priority, "a priority that is written again is the same");
  const std::string before = std::string("x=\",u=1\";i=0, y ,").append(value);
  require(parse_priority(before) == priority, "members of other names say nothing");
  if (value.find_first_of("\"\\") != std::string_view::npos) return;
  const Priority last = parse_priority(std::string(value).append(", u=0,i=?1"));
  require(last == Priority{.urgency = 0, .incremental = true}, "the last of a name counts");
}

void check_decimal(std::string_view value) {
  const std::optional<std::uint64_t> number = http::parse_decimal(value);
  const std::string terminated(value);
  const bool digits =
      !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos;
  errno = 0;
  const std::uint64_t expected = std::strtoull(terminated.c_str(), nullptr, 10);
  require(number.has_value() == (digits && errno != ERANGE), "a number is digits, and fits");
  require(!number || *number == expected, "a number is the C library's");
}

// RFC 7578, 4.2. Values of other fields are used as the name parameter.
void check_disposition(std::string_view value) {
  std::string body = "--B\r\nContent-Disposition: ";
  if (!value.starts_with("form-data")) body += "form-data; name=";
  body.append(value).append("\r\n\r\nx\r\n--B--");
  check_multipart("B", body, Cuts::chosen_by(value), {});
}

}  // namespace

void check_field_value(std::string_view value) {
  const ExactCopy copy(value);
  value = copy.view();
  const std::uint64_t number = number_of(value);
  const auto now = static_cast<std::int64_t>(number % 4'000'000'000);  // up to the year 2096
  check_date(value, now);
  check_seconds(static_cast<std::int64_t>(number) >> 20);
  check_preconditions(value, now);
  check_range(value);
  check_priority(value);
  check_decimal(value);
  check_disposition(value);
}

}  // namespace h2server::fuzz
