// The result as one line of JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "load/histogram.h"
#include "load/tally.h"

namespace h2server::lab::load {

// A member of the object that a mode adds; `json` is its value, written already.
struct ReportField {
  std::string_view name;
  std::string json;
};

// [[upper end of a bucket in µs, count], …]
[[nodiscard]] std::string to_json(const Histogram& histogram);
[[nodiscard]] std::string to_json(const Tally& tally, const std::vector<ReportField>& fields);

}  // namespace h2server::lab::load
