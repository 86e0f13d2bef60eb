#include "load/report.h"

#include <fmt/format.h>

#include <iterator>

namespace h2server::lab::load {

std::string to_json(const Histogram& histogram) {
  std::string text = "[";
  for (const auto& [value_us, count] : histogram.buckets()) {
    fmt::format_to(std::back_inserter(text), "{}[{},{}]", text.size() > 1 ? "," : "", value_us,
                   count);
  }
  return text += ']';
}

std::string to_json(const ErrorCounts& errors) {
  std::string text = "{";
  for (std::size_t i = 0; i < error_kinds; ++i) {
    const auto kind = static_cast<ErrorKind>(i);
    if (errors.of(kind) == 0) continue;
    fmt::format_to(std::back_inserter(text), "{}\"{}\":{}", text.size() > 1 ? "," : "",
                   name_of(kind), errors.of(kind));
  }
  return text += '}';
}

std::string to_json(const Tally& tally, const std::vector<ReportField>& fields) {
  const Histogram& latency = tally.latency;
  std::string text = fmt::format(
      "{{\"requests\":{},\"errors\":{},\"seconds\":{:.6f},\"cpu_seconds\":{:.6f},"
      "\"body_bytes_in\":{},\"body_bytes_out\":{},\"bytes_in\":{},\"bytes_out\":{},"
      "\"mean_us\":{:.3f},\"max_us\":{}",
      tally.answered, to_json(tally.errors), tally.seconds, tally.cpu_seconds, tally.body_bytes_in,
      tally.body_bytes_out, tally.bytes_in, tally.bytes_out, latency.mean_us(), latency.max_us());
  const auto out = std::back_inserter(text);
  for (const double percentile : {50.0, 90.0, 99.0, 99.9}) {
    fmt::format_to(out, ",\"p{}_us\":{}", percentile == 99.9 ? 999 : static_cast<int>(percentile),
                   latency.value_at_percentile(percentile));
  }
  fmt::format_to(out, ",\"histogram\":{}", to_json(latency));
  for (const ReportField& field : fields) {
    fmt::format_to(out, ",\"{}\":{}", field.name, field.json);
  }
  return text += '}';
}

}  // namespace h2server::lab::load
