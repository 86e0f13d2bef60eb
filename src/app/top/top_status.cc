#include "app/top/top_status.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "app/client/json_members.h"

namespace h2server::app {

namespace {

using Json = nlohmann::json;

constexpr std::size_t history_max = 120;  // seconds

// A number that is not negative; fractions are cut off.
Number to_number(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const auto number = value.get<double>();
  constexpr double most = 9e18;  // what surely fits
  if (!(number >= 0 && number < most)) return std::nullopt;
  return static_cast<std::uint64_t>(number);
}

Number number_of(const Json& object, const char* name) {
  const Json* const value = member_of(object, name);
  return value == nullptr ? std::nullopt : to_number(*value);
}

// Calls `read` with each object of a list; what else is in it is left out.
template <class Read>
auto objects_of(const Json& object, const char* name, Read read) {
  std::vector<decltype(read(object))> list;
  const Json* const value = member_of(object, name);
  if (value == nullptr || !value->is_array()) return list;
  for (const Json& element : *value) {
    if (element.is_object()) list.push_back(read(element));
  }
  return list;
}

std::vector<std::uint64_t> numbers_of(const Json& object, const char* name) {
  std::vector<std::uint64_t> numbers;
  const Json* const value = member_of(object, name);
  if (value == nullptr || !value->is_array()) return numbers;
  for (const Json& element : *value) numbers.push_back(to_number(element).value_or(0));
  return numbers;
}

// Returns an empty object if there is no such object.
const Json& object_of(const Json& object, const char* name) {
  static const Json none = Json::object();
  const Json* const value = member_of(object, name);
  return value != nullptr && value->is_object() ? *value : none;
}

TopSecond read_second(const Json& json) {
  const Json* const time = member_of(json, "unix_s");
  return {.unix_s = time != nullptr && time->is_number() ? time->get<double>() : 0,
          .requests = number_of(json, "requests").value_or(0),
          .response_bytes = number_of(json, "response_bytes").value_or(0),
          .counts = numbers_of(json, "counts")};
}

TopConnection read_connection(const Json& json) {
  const Json* const idle = member_of(json, "idle");
  return {.client = text_of(json, "client"),
          .protocol = text_of(json, "protocol"),
          .tls = text_of(json, "tls"),
          .idle = idle != nullptr && idle->is_boolean() && idle->get<bool>(),
          .worker = number_of(json, "worker"),
          .age_s = number_of(json, "age_s"),
          .requests = number_of(json, "requests"),
          .active = number_of(json, "active"),
          .upload_bytes = number_of(json, "upload_bytes")};
}

TopCertificate read_certificate(const Json& json) {
  std::string names;
  if (const Json* const list = member_of(json, "names"); list != nullptr && list->is_array()) {
    for (const Json& name : *list) {
      if (!name.is_string()) continue;
      if (!names.empty()) names += ", ";
      names += name.get<std::string>();
    }
  }
  if (names.empty()) names = text_of(json, "site");
  if (names.empty()) names = text_of(json, "file");
  const Json* const days = member_of(json, "days_left");
  const bool known = days != nullptr && days->is_number() && std::abs(days->get<double>()) < 1e9;
  return {.names = names,
          .days_left = known ? std::optional<std::int64_t>(
                                   static_cast<std::int64_t>(std::floor(days->get<double>())))
                             : std::nullopt};
}

TopCache read_cache(const Json& json) {
  return {.files = number_of(json, "files"),
          .bytes = number_of(json, "bytes"),
          .bytes_max = number_of(json, "bytes_max"),
          .snapshot_bytes = number_of(json, "snapshot_bytes"),
          .snapshot_bytes_max = number_of(json, "snapshot_bytes_max"),
          .hits = number_of(json, "hits"),
          .misses = number_of(json, "misses")};
}

TopMemory read_memory(const Json& json) {
  return {.bytes = number_of(json, "bytes"),
          .bytes_max = number_of(json, "bytes_max"),
          .refused = number_of(json, "refused"),
          .cut_off = number_of(json, "cut_off")};
}

void read_lists(TopStatus& status, const Json& json) {
  status.bounds_us = numbers_of(json, "latency_bounds_us");
  status.history = objects_of(json, "history", read_second);
  status.sites = objects_of(json, "sites", [](const Json& site) {
    return TopSite{.name = text_of(site, "name"),
                   .requests = number_of(site, "requests"),
                   .errors = number_of(site, "errors"),
                   .response_bytes = number_of(site, "response_bytes")};
  });
  status.paths = objects_of(json, "paths", [](const Json& path) {
    return TopPath{.path = text_of(path, "path"), .count = number_of(path, "count")};
  });
  status.workers = objects_of(json, "workers", [](const Json& worker) {
    return TopWorker{.number = number_of(worker, "number"),
                     .connections = number_of(worker, "connections"),
                     .streams = number_of(worker, "streams"),
                     .requests = number_of(worker, "requests"),
                     .waiting = number_of(worker, "waiting")};
  });
  status.connection_list = objects_of(json, "connections", read_connection);
  status.uploads = objects_of(json, "uploads", [](const Json& upload) {
    return TopUpload{.path = text_of(upload, "site") + text_of(upload, "path"),
                     .received = number_of(upload, "received"),
                     .size = number_of(upload, "size"),
                     .age_s = number_of(upload, "age_s")};
  });
  status.certificates = objects_of(json, "certificates", read_certificate);
}

}  // namespace

Result<TopStatus, std::string> parse_top_status(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::unexpected("this is no status of h2server");
  const Json& totals = object_of(json, "totals");
  const Json& log = object_of(json, "log");
  TopStatus status{.version = text_of(json, "version"),
                   .scheme = text_of(json, "scheme"),
                   .engine = text_of(json, "engine"),
                   .uptime_s = number_of(json, "uptime_s"),
                   .pid = number_of(json, "pid"),
                   .requests = number_of(totals, "requests"),
                   .response_bytes = number_of(totals, "response_bytes"),
                   .connections = number_of(totals, "connections"),
                   .streams = number_of(totals, "streams"),
                   .errors_5xx = number_of(totals, "errors_5xx"),
                   .bounds_us = {},
                   .history = {},
                   .sites = {},
                   .paths = {},
                   .workers = {},
                   .connection_list = {},
                   .connections_left_out = number_of(json, "connections_left_out"),
                   .cache = read_cache(object_of(json, "cache")),
                   .memory = read_memory(object_of(json, "memory")),
                   .uploads = {},
                   .certificates = {},
                   .log_lines = number_of(log, "lines"),
                   .log_dropped = number_of(log, "dropped")};
  read_lists(status, json);
  return status;
}

void add_history(std::vector<TopSecond>& history, const TopStatus& status) {
  for (const TopSecond& second : status.history) {
    // Within half a second it is the same one.
    const auto at = std::ranges::lower_bound(history, second.unix_s - 0.5, {}, &TopSecond::unix_s);
    if (at != history.end() && at->unix_s < second.unix_s + 0.5) *at = second;
    else history.insert(at, second);
  }
  if (history.empty()) return;
  const double oldest = history.back().unix_s - static_cast<double>(history_max) + 0.5;
  std::erase_if(history, [oldest](const TopSecond& second) { return second.unix_s < oldest; });
}

std::vector<std::uint64_t> summed_counts(const std::vector<TopSecond>& history,
                                         std::size_t seconds) {
  std::vector<std::uint64_t> sum;
  for (const TopSecond& second : history) {
    if (second.unix_s <= history.back().unix_s - static_cast<double>(seconds) + 0.5) continue;
    if (sum.size() < second.counts.size()) sum.resize(second.counts.size());
    for (std::size_t i = 0; i < second.counts.size(); ++i) sum[i] += second.counts[i];
  }
  return sum;
}

std::optional<std::size_t> quantile_bucket(const std::vector<std::uint64_t>& counts, double share) {
  const std::uint64_t total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (total == 0) return std::nullopt;
  const double wanted = std::max(1.0, std::ceil(static_cast<double>(total) * share));
  double seen = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    seen += static_cast<double>(counts[i]);
    if (seen >= wanted) return i;
  }
  return counts.size() - 1;
}

}  // namespace h2server::app
