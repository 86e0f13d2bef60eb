// ResourceExhaustion: for code that accepts connections when the system has no descriptor, memory,
// thread or process left. The code warns the operator, pauses and retries; open connections are
// still served.
#pragma once

#include <cstdint>

#include "h2server/result.h"

namespace h2server::server {

class ResourceExhaustion {
 public:
  static constexpr std::uint32_t pause_ms = 100;  // before a retry

  // Logs a warning, at most once in 10 seconds.
  void report(const Error& error, std::int64_t now_ms);

 private:
  std::int64_t report_from_ms_ = 0;
};

}  // namespace h2server::server
