#include "app/top/top_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/doctor/doctor_text.h"

namespace h2server::app {

namespace {

constexpr std::array<std::string_view, 9> from_below{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 9> from_left{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
constexpr std::size_t eighths = 8;

bool continues_character(char c) noexcept { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Returns the first `columns` characters of a text.
std::string_view first_columns(std::string_view text, std::size_t columns) noexcept {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (!continues_character(text[at]) && columns-- == 0) break;
  }
  return text.substr(0, at);
}

std::string fitting(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns < 3) return std::string(first_columns(text, columns));
  return std::string(first_columns(text, columns - 2)) + "..";
}

// In eighths of a column; at least 1 for what is not zero.
std::size_t scaled(std::uint64_t value, std::uint64_t most, std::size_t columns) noexcept {
  if (value == 0 || most == 0) return 0;
  const double share = static_cast<double>(value) / static_cast<double>(most);
  const double all = static_cast<double>(columns * eighths);
  return static_cast<std::size_t>(std::clamp(std::round(share * all), 1.0, all));
}

}  // namespace

std::string number_text(Number number) { return number ? grouped(*number) : std::string(missing); }

std::string size_text(Number bytes) {
  if (!bytes) return std::string(missing);
  return *bytes < 1024 ? fmt::format("{} B", *bytes) : bytes_text(*bytes);
}

std::string age_text(Number seconds) {
  if (!seconds) return std::string(missing);
  const std::uint64_t s = *seconds;
  if (s < 60) return fmt::format("{} s", s);
  if (s < 600) return fmt::format("{} min {} s", s / 60, s % 60);
  if (s < 3600) return fmt::format("{} min", s / 60);
  if (s < 86'400) return fmt::format("{} h {} min", s / 3600, s / 60 % 60);
  return fmt::format("{} d {} h", s / 86'400, s / 3600 % 24);
}

std::string duration_text(std::uint64_t us) {
  const auto value = static_cast<double>(us);
  if (us < 1000) return fmt::format("{} µs", us);
  return us < 1'000'000 ? fmt::format("{:g} ms", value / 1e3) : fmt::format("{:g} s", value / 1e6);
}

std::string bucket_text(const std::vector<std::uint64_t>& bounds_us, std::size_t bucket) {
  if (bounds_us.empty()) return std::string(missing);
  if (bucket < bounds_us.size()) return duration_text(bounds_us[bucket]);
  return "> " + duration_text(bounds_us.back());
}

std::string harmless(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    if (c >= ' ' && c <= '~') shown += c;
    else shown += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return shown;
}

std::size_t columns_of(std::string_view text) noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return !continues_character(c); }));
}

std::string left(std::string_view text, std::size_t columns) {
  std::string shown = fitting(text, columns);
  return shown.append(columns - columns_of(shown), ' ');
}

std::string right(std::string_view text, std::size_t columns) {
  const std::string shown = fitting(text, columns);
  return std::string(columns - columns_of(shown), ' ') + shown;
}

std::string bar(std::uint64_t value, std::uint64_t most, std::size_t columns) {
  std::string text;
  std::size_t rest = scaled(value, most, columns);
  for (; rest >= eighths; rest -= eighths) text += from_left[eighths];
  return text.append(from_left[rest]);
}

std::vector<std::string> sparkline(std::span<const Number> values, std::size_t columns,
                                   std::size_t rows) {
  const auto shown = values.last(std::min(columns, values.size()));
  std::uint64_t most = 1;
  for (const Number& value : shown) most = std::max(most, value.value_or(0));
  std::vector<std::string> lines(rows, std::string(columns - shown.size(), ' '));
  for (const Number& value : shown) {
    const std::size_t height = value ? std::max<std::size_t>(1, scaled(*value, most, rows)) : 0;
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t below = (rows - 1 - row) * eighths;  // eighths of the rows under this one
      lines[row] += from_below[height > below ? std::min(height - below, eighths) : 0];
    }
  }
  return lines;
}

std::string_view shade(std::uint64_t value, std::uint64_t most) noexcept {
  constexpr std::array<std::string_view, 4> shades{"░", "▒", "▓", "█"};
  if (value == 0) return " ";
  const double level =
      std::log1p(static_cast<double>(value)) / std::log1p(static_cast<double>(most));
  const double index = std::pow(level, 1.5) * static_cast<double>(shades.size());
  return shades[std::min(shades.size() - 1, static_cast<std::size_t>(index))];
}

}  // namespace h2server::app
