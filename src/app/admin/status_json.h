// The status of a server as JSON, for the status page and h2server top.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "h2server/status.h"

namespace h2server::app {

// What was done in a second.
struct HistoryEntry {
  double unix_s = 0;
  std::uint64_t requests = 0;
  std::uint64_t response_bytes = 0;
  std::vector<std::uint64_t> counts;  // by duration, as ServerStatus::durations
};

// The last two minutes. One thread at a time.
class History {
 public:
  static constexpr std::size_t entries_max = 120;

  // Takes the differences to the last call. The first call adds nothing.
  void add(const ServerStatus& status, double unix_s);
  [[nodiscard]] const std::deque<HistoryEntry>& entries() const noexcept { return entries_; }

 private:
  std::deque<HistoryEntry> entries_;
  std::vector<std::uint64_t> durations_;
  std::uint64_t response_bytes_ = 0;
};

struct CertificateRow {
  std::string site;
  std::string file;
  std::vector<std::string> names;
  std::int64_t days_left = 0;  // negative once it has expired
};

struct StatusFacts {
  std::string scheme;
  std::string engine;
  double started_unix_s = 0;
  double unix_s = 0;
  std::vector<CertificateRow> certificates = {};
};

// `entries`: how many of the history's, the last ones.
std::string status_json(const ServerStatus& status, const StatusFacts& facts,
                        const std::deque<HistoryEntry>& history, std::size_t entries);

}  // namespace h2server::app
