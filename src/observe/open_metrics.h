// Writes metrics as text in the format OpenMetrics 1.0. One thread at a time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "observe/metrics.h"

namespace h2server::observe {

inline constexpr std::string_view open_metrics_media_type =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

class OpenMetricsWriter {
 public:
  enum class Type : std::uint8_t { counter, gauge, histogram, info };
  struct Label {
    std::string_view name;
    std::string_view value;  // any bytes
  };
  using Labels = std::initializer_list<Label>;

  // Begins a family. All its samples follow before the next one. `unit`: "seconds", "bytes" or
  // empty; a name ends with its unit (OpenMetrics, "Unit"). The name is without "_total".
  void family(std::string_view name, Type type, std::string_view unit, std::string_view help);

  // A counter's or a gauge's sample; of a counter, "_total" is added. An info's has the value 1.
  void sample(Labels labels, std::uint64_t value);
  void sample(Labels labels, double value);

  // A histogram's samples. `counts` holds what is in each bucket alone, and has one more than
  // `bounds_us`: what is above. Bounds and sum are written in seconds.
  void histogram(Labels labels, std::span<const std::uint32_t> bounds_us,
                 std::span<const std::uint64_t> counts, std::uint64_t sum_us);

  // Ends the text; the last call.
  std::string finish();

 private:
  void name_and_labels(std::string_view suffix, Labels labels, std::string_view bound = {});
  void labels(Labels labels, std::string_view bound);

  std::string text_;
  std::string name_;
  Type type_ = Type::gauge;
};

std::string_view name_of(Method method) noexcept;
std::string_view name_of(Protocol protocol) noexcept;
std::string_view name_of(Handshake result) noexcept;
std::string_view name_of(Group group) noexcept;
std::string_view name_of(Reset reset) noexcept;
std::string_view name_of(Flood flood) noexcept;

// The families of SiteNumbers. `sites`: the names by number. Samples that are zero are left out, so
// that a thousand idle sites are a short text.
void write_requests(OpenMetricsWriter& writer, std::span<const std::string> sites,
                    const Totals& totals);
// The families of WorkerNumbers.
void write_connections(OpenMetricsWriter& writer, const Totals& totals);

}  // namespace h2server::observe
