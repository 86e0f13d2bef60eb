// LongTurns: what a worker logs of turns in which it served nobody for long: at most a line in ten
// seconds. Used on the worker's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/counters.h"

namespace h2server::server {

class LongTurns {
 public:
  // `counters` must outlive it.
  explicit LongTurns(const WorkerCounters& counters) noexcept : counters_(counters) {}

  // Called at the end of a turn that took `ms`, more than TurnWatch::usual_ms_max. Returns the line
  // to log, if it is time for one. It does not say whose fault the turn is: the processor may have
  // been busy with others, or the process stopped.
  [[nodiscard]] std::optional<std::string> note(std::int64_t ms, std::int64_t now_ms);
  // The same, and logs it.
  void log(std::int64_t ms, std::int64_t now_ms);

 private:
  static constexpr std::int64_t gap_ms = 10'000;  // between two lines

  const WorkerCounters& counters_;
  std::optional<std::int64_t> said_ms_;  // when the last line was made
  std::uint64_t untold_ = 0;             // turns since then
  std::int64_t untold_ms_max_ = 0;       // the longest of them
};

}  // namespace h2server::server
