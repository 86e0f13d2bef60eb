#include "h2server/limits.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace h2server {
namespace limits_test {

TEST(Limits, AValueOutOfRangeIsNamed) {
  struct Row {
    const char* name;
    void (*change)(Limits& limits);
  };
  const Row rows[] = {
      {"request_line_bytes_max", [](Limits& l) { l.request_line_bytes_max = 0; }},
      {"head_bytes_max", [](Limits& l) { l.head_bytes_max = std::size_t{1} << 30; }},
      {"fields_max", [](Limits& l) { l.fields_max = 0; }},
      {"output_bytes_max", [](Limits& l) { l.output_bytes_max = 1000; }},
      {"idle_ms_max", [](Limits& l) { l.idle_ms_max = 0; }},
      {"bytes_per_s_min", [](Limits& l) { l.bytes_per_s_min = 0; }},
      {"heads_bytes_max", [](Limits& l) { l.heads_bytes_max = 4095; }},
      {"streams_max", [](Limits& l) { l.streams_max = std::uint32_t{1} << 31; }},
      {"stream_window_bytes", [](Limits& l) { l.stream_window_bytes = -1; }},
      {"connection_window_bytes", [](Limits& l) { l.connection_window_bytes = 65534; }},
      {"stream_window_bytes_max",
       [](Limits& l) { l.stream_window_bytes_max = l.stream_window_bytes - 1; }},
      {"stream_window_bytes_max",
       [](Limits& l) { l.stream_window_bytes_max = std::numeric_limits<std::int32_t>::max(); }},
      {"windows_gain_bytes_max", [](Limits& l) { l.windows_gain_bytes_max = -1; }},
  };
  for (const Row& row : rows) {
    Limits limits;
    row.change(limits);
    EXPECT_TRUE(problem_of(limits).starts_with("the limit " + std::string(row.name) + " is "))
        << row.name << ": " << problem_of(limits);
  }
}

TEST(Limits, TheBoundsThemselvesAreInRange) {
  Limits limits;
  limits.connection_window_bytes = 65535;
  limits.stream_window_bytes = limits.stream_window_bytes_max = 1;
  limits.windows_gain_bytes_max = 0;
  limits.fields_max = 65535;
  limits.streams_max = 1;
  EXPECT_EQ(problem_of(limits), "");
}

}  // namespace limits_test
}  // namespace h2server
