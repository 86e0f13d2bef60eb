// Shortage: what whoever takes connections on does when the system has no descriptor, memory,
// thread or process to give. It waits a little and tries again, since those that are connected are
// served meanwhile, and the operator is told now and then.
#pragma once

#include <cstdint>

#include "h2server/result.h"

namespace h2server::server {

class Shortage {
 public:
  static constexpr std::uint32_t pause_ms = 100;  // until something may have become free

  void report(const Error& error, std::int64_t now_ms);

 private:
  std::int64_t report_from_ms_ = 0;
};

}  // namespace h2server::server
