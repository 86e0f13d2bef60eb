#include "config/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text/text.h"

namespace h2server::config {

namespace {

constexpr std::uint32_t burst_max = 1'000'000;

// Returns the number that the whole text is, or nullopt.
std::optional<double> decimal_of(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || !base::is_digit(text.front())) return std::nullopt;
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || last != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string_view digits_at_start(std::string_view text) {
  return text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
}

struct Unit {
  std::string_view name;
  std::uint64_t ms;
};
constexpr std::array<Unit, 5> units{{
    {"d", 24 * 60 * 60 * 1000},
    {"h", 60 * 60 * 1000},
    {"m", 60 * 1000},
    {"s", 1000},
    {"ms", 1},
}};

}  // namespace

Read<std::uint64_t> read_number(std::string_view text, Range range) {
  const std::string allowed = fmt::format("allowed: {} to {}", range.least, range.most);
  const std::string_view magnitude = text.substr(text.starts_with('-') ? 1 : 0);
  if (magnitude.empty() || digits_at_start(magnitude).size() != magnitude.size()) {
    return wrong("not a number; " + allowed);
  }
  if (magnitude.size() != text.size()) return wrong("too small; " + allowed);
  const std::optional<std::uint64_t> value = base::parse_decimal(text);
  if (!value || *value > range.most) return wrong("too large; " + allowed);
  if (*value < range.least) return wrong("too small; " + allowed);
  return *value;
}

Read<std::uint64_t> read_size(std::string_view text) {
  const std::string_view digits = digits_at_start(text);
  std::string unit(base::trim(text.substr(digits.size())));
  std::ranges::transform(unit, unit.begin(), base::to_lower);
  if (unit.ends_with('b')) unit.pop_back();
  const bool binary = unit.size() == 2 && unit.ends_with('i');
  if (binary) unit.pop_back();
  constexpr std::string_view prefixes = "kmgt";
  const std::size_t power = unit.empty() ? 0 : prefixes.find(unit) + 1;
  if (digits.empty() || unit.size() > 1 || (!unit.empty() && power == 0) ||
      (binary && unit.empty())) {
    return wrong("not a size; allowed: bytes, such as 500, 500k, 2G or 2GiB");
  }
  const std::optional<std::uint64_t> number = base::parse_decimal(digits);
  std::uint64_t bytes = number.value_or(0);
  bool counted = number.has_value();
  for (std::size_t i = 0; i < power; ++i) {
    counted = counted && !__builtin_mul_overflow(bytes, binary ? 1024U : 1000U, &bytes);
  }
  if (!counted) return wrong("too large; allowed: less than 2^64 bytes");
  return bytes;
}

std::string write_size(std::uint64_t bytes) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 8> sizes{{
      {"TiB", 1ULL << 40},
      {"GiB", 1ULL << 30},
      {"MiB", 1ULL << 20},
      {"KiB", 1ULL << 10},
      {"T", 1'000'000'000'000},
      {"G", 1'000'000'000},
      {"M", 1'000'000},
      {"k", 1000},
  }};
  std::string shortest = std::to_string(bytes);
  if (bytes == 0) return shortest;
  for (const auto& [name, size] : sizes) {
    std::string text = fmt::format("{}{}", bytes / size, name);
    if (bytes % size == 0 && text.size() < shortest.size()) shortest = std::move(text);
  }
  return shortest;
}

Read<std::chrono::milliseconds> read_duration(std::string_view text) {
  const std::string_view digits = digits_at_start(text);
  const std::string_view unit = base::trim(text.substr(digits.size()));
  const auto* const found = std::ranges::find(units, unit, &Unit::name);
  const std::optional<std::uint64_t> count = base::parse_decimal(digits);
  if (unit.empty() && count == 0) return std::chrono::milliseconds(0);
  if (digits.empty() || found == units.end()) {
    return wrong(digits.size() == text.size() && !digits.empty()
                     ? fmt::format("no unit; allowed: such as {}s or {}ms", text, text)
                     : "not a duration; allowed: such as 500ms, 10s, 5m, 1h or 1d");
  }
  constexpr std::uint64_t ms_max = std::uint64_t{1000} * 365 * 24 * 60 * 60 * 1000;
  std::uint64_t ms = 0;
  if (!count || __builtin_mul_overflow(*count, found->ms, &ms) || ms > ms_max) {
    return wrong("too large; allowed: less than 1000 years");
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(ms));
}

std::string write_duration(std::chrono::milliseconds duration) {
  const auto ms = static_cast<std::uint64_t>(duration.count());
  if (ms == 0) return "0s";
  const auto* const unit =
      std::ranges::find_if(units, [ms](const Unit& one) { return ms % one.ms == 0; });
  return fmt::format("{}{}", ms / unit->ms, unit->name);
}

Read<double> read_ratio(std::string_view text) {
  const std::optional<double> value = decimal_of(text);
  if (!value) return wrong("not a ratio; allowed: 0 to 1, such as 0.01");
  if (*value > 1) return wrong("too large; allowed: 0 to 1");
  return *value;
}

Read<Rate> read_rate(std::string_view text) {
  constexpr std::string_view form =
      R"(not a rate; allowed: requests per second and how many at once, such as 10/s or "10/s 50")";
  if (text == "off") return Rate{};
  const std::size_t space = std::min(text.find(' '), text.size());
  const std::string_view often = text.substr(0, space);
  const std::string_view burst = base::trim(text.substr(space));
  const std::size_t slash = std::min(often.find('/'), often.size());
  const std::optional<double> number = decimal_of(often.substr(0, slash));
  const std::string_view unit = often.substr(slash);
  const bool has_unit = unit == "/s" || unit == "/m" || unit == "/h";
  if (!number || !has_unit) return wrong(std::string(form));
  Rate rate{.per_s = *number / (unit == "/s" ? 1 : unit == "/m" ? 60 : 3600)};
  if (rate.per_s <= 0 || rate.per_s > 1e6) {
    return wrong("out of range; allowed: more than 0 and at most 1000000/s");
  }
  if (burst.empty()) return rate;
  const Read<std::uint64_t> at_once = read_number(burst, {1, burst_max});
  if (!at_once) return wrong(fmt::format("\"{}\" is {}", burst, at_once.error()));
  rate.burst = static_cast<std::uint32_t>(*at_once);
  return rate;
}

std::string write_rate(const Rate& rate) {
  if (rate.per_s <= 0) return "off";
  const std::string often = fmt::format("{}/s", rate.per_s);
  return rate.burst == 0 ? often : fmt::format("{} {}", often, rate.burst);
}

Read<bool> read_switch(std::string_view text) {
  if (text == "true" || text == "on") return true;
  if (text == "false" || text == "off") return false;
  return wrong("neither true nor false; allowed: true, false");
}

}  // namespace h2server::config
