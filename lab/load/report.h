// The result as one line of JSON.
//
//     requests               answered as expected; all others are in `errors`, by kind
//     errors                 {"status": 3, …}: see errors.h; `connect`, `tls` and `alpn` count
//                            connections, whose requests are `unsent` or `unanswered`
//     seconds, cpu_seconds   duration and the client's own processor time of the measured part
//     body_bytes_in/_out     of responses and uploads
//     bytes_in/_out          on the wire above TCP, of all connections, including the warm-up
//     histogram              [[upper end of a bucket in µs, count], …], with mean_us, max_us,
//                            p50_us, p90_us, p99_us, p999_us
//     closed                 connect_seconds, reconnects
//     open                   rate_intended, rate_done, late_us_max (caused by the client),
//                            reconnects, warmup_requests,
//                            service_histogram (from the time of sending)
//     exchange               connections, connect_histogram
//     idle                   held: connections open at the end
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "load/histogram.h"
#include "load/tally.h"

namespace h2server::lab::load {

// A member that a mode adds to the object. `json` is its serialised value.
struct ReportField {
  std::string_view name;
  std::string json;
};

// [[upper end of a bucket in µs, count], …]
[[nodiscard]] std::string to_json(const Histogram& histogram);
[[nodiscard]] std::string to_json(const ErrorCounts& errors);
[[nodiscard]] std::string to_json(const Tally& tally, const std::vector<ReportField>& fields);

}  // namespace h2server::lab::load
