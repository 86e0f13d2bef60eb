#include "observe/open_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text/utf8.h"

namespace h2server::observe {

namespace {
std::string_view type_name(OpenMetricsWriter::Type type) noexcept {
  using Type = OpenMetricsWriter::Type;
  switch (type) {
    case Type::counter:
      return "counter";
    case Type::gauge:
      return "gauge";
    case Type::histogram:
      return "histogram";
    case Type::info:
      return "info";
  }
  return {};
}

void append_escaped(std::string& to, std::string_view text) {
  for (const char c : text) {
    if (c == '\n') {
      to += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') to += '\\';
    to += c;
  }
}

// Microseconds as seconds, without zeros at the end but with one decimal at least, as the standard
// wants bounds to be written.
std::string seconds(std::uint64_t us) {
  std::string text = fmt::format("{}.{:06}", us / 1'000'000, us % 1'000'000);
  while (text.ends_with('0') && !text.ends_with(".0")) text.pop_back();
  return text;
}
}  // namespace

void OpenMetricsWriter::family(std::string_view name, Type type, std::string_view unit,
                               std::string_view help) {
  name_ = name;
  type_ = type;
  auto to = std::back_inserter(text_);
  fmt::format_to(to, "# TYPE {} {}\n", name, type_name(type));
  if (!unit.empty()) fmt::format_to(to, "# UNIT {} {}\n", name, unit);
  text_.append("# HELP ").append(name).append(" ");
  append_escaped(text_, help);
  text_ += '\n';
}

void OpenMetricsWriter::labels(Labels labels, std::string_view bound) {
  if (labels.size() == 0 && bound.empty()) return;
  char before = '{';
  const auto add = [&](std::string_view name, std::string_view value) {
    text_ += before;
    before = ',';
    text_.append(name).append("=\"");
    append_escaped(text_, value);
    text_ += '"';
  };
  for (const Label& label : labels) add(label.name, base::to_valid_utf8(label.value));
  if (!bound.empty()) add("le", bound);
  text_ += '}';
}

void OpenMetricsWriter::name_and_labels(std::string_view suffix, Labels names,
                                        std::string_view bound) {
  text_.append(name_).append(suffix);
  labels(names, bound);
  text_ += ' ';
}

void OpenMetricsWriter::sample(Labels labels, std::uint64_t value) {
  name_and_labels(type_ == Type::counter ? "_total" : type_ == Type::info ? "_info" : "", labels);
  fmt::format_to(std::back_inserter(text_), "{}\n", value);
}

void OpenMetricsWriter::sample(Labels labels, double value) {
  name_and_labels(type_ == Type::counter ? "_total" : "", labels);
  fmt::format_to(std::back_inserter(text_), "{}\n", value);
}

void OpenMetricsWriter::histogram(Labels labels, std::span<const std::uint32_t> bounds_us,
                                  std::span<const std::uint64_t> counts, std::uint64_t sum_us) {
  std::uint64_t below = 0;
  for (std::size_t at = 0; at < counts.size(); ++at) {
    below += counts[at];
    name_and_labels("_bucket", labels, at < bounds_us.size() ? seconds(bounds_us[at]) : "+Inf");
    fmt::format_to(std::back_inserter(text_), "{}\n", below);
  }
  name_and_labels("_count", labels);
  fmt::format_to(std::back_inserter(text_), "{}\n", below);
  name_and_labels("_sum", labels);
  fmt::format_to(std::back_inserter(text_), "{}\n", seconds(sum_us));
}

std::string OpenMetricsWriter::finish() {
  text_ += "# EOF\n";
  return std::move(text_);
}

}  // namespace h2server::observe
