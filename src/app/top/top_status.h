// TopStatus: what the admin listener says at /-/status.json, as values. Everything may be missing,
// because the server may be of another version. Texts are as they came: those of clients are
// hostile to terminals.
//
// Values and pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/result.h"

namespace h2server::app {

using Number = std::optional<std::uint64_t>;

struct TopSecond {
  double unix_s = 0;
  std::uint64_t requests = 0;
  std::uint64_t response_bytes = 0;
  std::vector<std::uint64_t> counts;  // requests by duration; one more than there are bounds

  bool operator==(const TopSecond&) const = default;
};

struct TopSite {
  std::string name;
  Number requests;
  Number errors;
  Number response_bytes;
};

struct TopPath {
  std::string path;
  Number count;
};

struct TopWorker {
  Number number;
  Number connections;
  Number streams;
  Number requests;
  Number waiting;
};

struct TopConnection {
  std::string client;
  std::string protocol;
  std::string tls;
  bool idle = false;
  Number worker;
  Number age_s;
  Number requests;
  Number active;
  Number upload_bytes;
};

struct TopUpload {
  std::string path;  // with the site in front
  Number received;
  Number size;
  Number age_s;
};

struct TopCertificate {
  std::string names;
  std::optional<std::int64_t> days_left;
};

struct TopCache {
  Number files;
  Number bytes;
  Number bytes_max;
  Number snapshot_bytes;
  Number snapshot_bytes_max;
  Number hits;
  Number misses;
};

struct TopMemory {
  Number bytes;
  Number bytes_max;
  Number refused;
  Number cut_off;
};

struct TopStatus {
  std::string version;
  std::string scheme;
  std::string engine;
  Number uptime_s;
  Number pid;
  Number requests;  // this and the next four: totals since the start, and what is open now
  Number response_bytes;
  Number connections;
  Number streams;
  Number errors_5xx;
  std::vector<std::uint64_t> bounds_us;  // of TopSecond::counts, ascending
  std::vector<TopSecond> history;        // the newest last
  std::vector<TopSite> sites;
  std::vector<TopPath> paths;
  std::vector<TopWorker> workers;
  std::vector<TopConnection> connection_list;
  Number connections_left_out;
  TopCache cache;
  TopMemory memory;
  std::vector<TopUpload> uploads;
  std::vector<TopCertificate> certificates;
  Number log_lines;
  Number log_dropped;
};

// Ignores members that it does not know, and values of another type than it expects. Fails if the
// text is no JSON object.
Result<TopStatus, std::string> parse_top_status(std::string_view json);

// Adds what `status` has of the last two minutes to `history`, which a later response may lack.
void add_history(std::vector<TopSecond>& history, const TopStatus& status);

// Returns the sum of the last `seconds` of the history, by bucket.
std::vector<std::uint64_t> summed_counts(const std::vector<TopSecond>& history,
                                         std::size_t seconds);

// The bucket in which a share of the requests, 0 to 1, ends. Nullopt if there are none.
std::optional<std::size_t> quantile_bucket(const std::vector<std::uint64_t>& counts, double share);

}  // namespace h2server::app
