#include "http/fields/ranges.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "http/fields/syntax.h"

namespace h2server::http {
namespace {

struct PlacedRange {
  ByteRange range;
  std::size_t place = 0;  // in the field
};

// Returns what follows "bytes=". Range units are case-insensitive (RFC 9110, 14.1).
std::optional<std::string_view> byte_range_set(std::string_view field) noexcept {
  constexpr std::string_view prefix = "bytes=";
  if (!equals_ignoring_case(field.substr(0, prefix.size()), prefix)) return std::nullopt;
  return field.substr(prefix.size());
}

std::optional<std::uint64_t> parse_saturated(std::string_view digits) noexcept {
  constexpr auto largest = std::numeric_limits<std::uint64_t>::max();
  if (digits.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char byte : digits) {
    if (byte < '0' || byte > '9') return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(byte - '0');
    value = value > (largest - digit) / 10 ? largest : value * 10 + digit;
  }
  return value;
}

// Returns an empty range if the element can't be satisfied, nullopt if it is invalid (RFC 9110,
// 14.1.2).
std::optional<ByteRange> parse_element(std::string_view element, std::uint64_t size) noexcept {
  const auto dash = element.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto last_digits = element.substr(dash + 1);
  if (dash == 0) {
    const auto length = parse_saturated(last_digits);
    if (!length) return std::nullopt;
    const std::uint64_t count = std::min(*length, size);
    return ByteRange{size - count, count};
  }
  const auto first = parse_saturated(element.substr(0, dash));
  const auto last = last_digits.empty() ? std::numeric_limits<std::uint64_t>::max()
                                        : parse_saturated(last_digits);
  if (!first || !last || *last < *first) return std::nullopt;
  if (*first >= size) return ByteRange{};
  return ByteRange{*first, std::min(*last, size - 1) - *first + 1};
}

// The elements of a field that can be satisfied.
class RangeSet {
 public:
  RangeSet(std::string_view list, std::uint64_t size) {
    for_each_element(list, [&](std::string_view element) { take(element, size); });
  }

  [[nodiscard]] bool valid() const noexcept {
    return valid_ && elements_ > 0 && elements_ <= RangeLimits::elements_max;
  }
  // The first range; empty if there is none.
  [[nodiscard]] const ByteRange& first() const noexcept { return first_; }
  // All ranges if there are several, else empty.
  std::vector<PlacedRange>& several() noexcept { return several_; }

 private:
  void take(std::string_view element, std::uint64_t size) {
    if (!valid_ || ++elements_ > RangeLimits::elements_max) return;
    const std::optional<ByteRange> range = parse_element(element, size);
    valid_ = range.has_value();
    if (!range || range->count == 0) return;
    if (first_.count == 0) {
      first_ = *range;
      return;
    }
    if (several_.empty()) several_.push_back({first_, 0});
    several_.push_back({*range, elements_});
  }

  ByteRange first_;
  std::vector<PlacedRange> several_;
  std::size_t elements_ = 0;
  bool valid_ = true;
};

// A merged range has the place of its first element.
void merge(std::vector<PlacedRange>& ranges) {
  const auto first_byte = [](const PlacedRange& placed) { return placed.range.first; };
  std::ranges::sort(ranges, {}, first_byte);
  std::size_t merged = 0;
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    PlacedRange& before = ranges[merged];
    const PlacedRange next = ranges[i];
    const std::uint64_t end = before.range.first + before.range.count;
    if (next.range.first > end && next.range.first - end > RangeLimits::part_overhead_bytes) {
      ranges[++merged] = next;
      continue;
    }
    before.range.count = std::max(end, next.range.first + next.range.count) - before.range.first;
    before.place = std::min(before.place, next.place);
  }
  ranges.resize(merged + 1);
  std::ranges::sort(ranges, {}, &PlacedRange::place);
}

RangeChoice whole(std::uint64_t size) { return {RangeVerdict::whole, {0, size}, {}}; }

RangeChoice choose_of_several(std::vector<PlacedRange>& ranges, std::uint64_t size) {
  merge(ranges);
  if (ranges.size() > RangeLimits::parts_max) return whole(size);
  RangeChoice choice{RangeVerdict::several, {}, {}};
  choice.parts.reserve(ranges.size());
  std::uint64_t left = size;
  for (const PlacedRange& placed : ranges) {
    choice.parts.push_back(placed.range);
    left -= placed.range.count;
  }
  if (ranges.size() == 1 && left > 0) return {RangeVerdict::partial, choice.parts.front(), {}};
  // The whole is no larger than the parts, and of more use.
  if (left <= ranges.size() * RangeLimits::part_overhead_bytes) return whole(size);
  return choice;
}

}  // namespace

RangeChoice choose_range(std::string_view range_field, std::uint64_t size) {
  const auto list = byte_range_set(trim(range_field));
  if (!list) return whole(size);
  RangeSet ranges(*list, size);
  if (!ranges.valid()) return whole(size);
  if (ranges.first().count == 0) return {RangeVerdict::unsatisfiable, {}, {}};
  if (ranges.several().empty()) return {RangeVerdict::partial, ranges.first(), {}};
  return choose_of_several(ranges.several(), size);
}

}  // namespace h2server::http
