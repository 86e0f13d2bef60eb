// The result as one line of JSON.
//
//     requests               answered as expected; all others are counted in `errors`, by kind
//     errors                 {"status": 3, …}: see errors.h; `connect`, `tls` and `alpn` count
//                            connections, whose requests are `unsent` or `unanswered`
//     seconds, cpu_seconds   of the measured time: how long, and what it cost the client itself
//     body_bytes_in/_out     of responses and uploads
//     bytes_in/_out          on the wire above TCP, from the first connection to the last
//     histogram              [[upper end of a bucket in µs, count], …], with mean_us, max_us,
//     p50_us,
//                            p90_us, p99_us, p999_us
//     closed                 connect_seconds, reconnects
//     open                   rate_intended, rate_done, late_us_max (by our own fault), reconnects,
//                            warmup_requests, service_histogram (from when they were sent)
//     exchange               connections, connect_histogram
//     idle                   held: connections that were open at the end
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
[[nodiscard]] std::string to_json(const ErrorCounts& errors);
[[nodiscard]] std::string to_json(const Tally& tally, const std::vector<ReportField>& fields);

}  // namespace h2server::lab::load
