// The forms of values: numbers, sizes, durations, ratios, rates. Each is read from a text and
// written as one that reads as the same.
//
// The error of a reader follows the value in a message: "not a number; allowed: 0 to 65535".
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "h2server/result.h"

namespace h2server::config {

// Returns the line about a wrong value as an error.
inline std::unexpected<std::string> wrong(std::string text) {
  return std::unexpected(std::move(text));
}

template <class T>
using Read = Result<T, std::string>;

// Both ends are included.
struct Range {
  std::uint64_t least = 0;
  std::uint64_t most = UINT64_MAX;
};

Read<std::uint64_t> read_number(std::string_view text, Range range);

// Bytes: "500", "500k" and "2 GB" use powers of 1000, "2GiB" and "2Gi" powers of 1024.
Read<std::uint64_t> read_size(std::string_view text);
std::string write_size(std::uint64_t bytes);

// "500ms", "10s", "5m", "1h", "1d"; a number needs its unit, but for 0.
Read<std::chrono::milliseconds> read_duration(std::string_view text);
std::string write_duration(std::chrono::milliseconds duration);

// 0 to 1.
Read<double> read_ratio(std::string_view text);

// "10/s", "0.5/s", "600/m 50": requests per second of one client, and how many at once. "off" is 0.
struct Rate {
  double per_s = 0;
  std::uint32_t burst = 0;  // 0: not given
};
Read<Rate> read_rate(std::string_view text);
std::string write_rate(const Rate& rate);

// true and on, false and off.
Read<bool> read_switch(std::string_view text);

}  // namespace h2server::config
