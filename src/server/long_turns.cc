#include "server/long_turns.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"

namespace h2server::server {

std::optional<std::string> LongTurns::note(std::int64_t ms, std::int64_t now_ms) {
  if (said_ms_ && now_ms - *said_ms_ < gap_ms) {
    ++untold_;
    untold_ms_max_ = std::max(untold_ms_max_, ms);
    return std::nullopt;
  }
  std::string line =
      fmt::format("a worker served nobody for {} ms; {}", ms, describe_last_route(counters_));
  if (untold_ > 0) {
    line +=
        fmt::format("; this happened {} more time{} since the last such line, for {} ms at most",
                    untold_, untold_ == 1 ? "" : "s", untold_ms_max_);
  }
  said_ms_ = now_ms;
  untold_ = 0;
  untold_ms_max_ = 0;
  return line;
}

void LongTurns::log(std::int64_t ms, std::int64_t now_ms) {
  const std::optional<std::string> line = note(ms, now_ms);
  if (line) base::log_warning("{}", *line);
}

}  // namespace h2server::server
