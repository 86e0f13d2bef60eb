// The families of metrics.h in OpenMetrics.
#include <algorithm>
#include <array>

#include "observe/open_metrics.h"

namespace h2server::observe {

namespace {
constexpr std::array<std::string_view, methods> method_names{"GET",   "HEAD",   "POST",    "PUT",
                                                             "PATCH", "DELETE", "OPTIONS", "other"};
constexpr std::array<std::string_view, protocols> protocol_names{"1.0", "1.1", "2"};
constexpr std::array<std::string_view, status_classes> class_names{"none", "1xx", "2xx",
                                                                   "3xx",  "4xx", "5xx"};
constexpr std::array<std::string_view, handshake_results> handshake_names{
    "full",  "resumed", "timed_out", "client_left", "refused_by_client", "no_common_choice",
    "failed"};
constexpr std::array<std::string_view, groups> group_names{"X25519MLKEM768", "x25519", "secp256r1",
                                                           "secp384r1", "other"};
constexpr std::array<std::string_view, reset_kinds> reset_names{"client", "server"};
constexpr std::array<std::string_view, flood_kinds> flood_names{"idle_frames", "resets", "other"};

using Sites = std::span<const std::string>;
using Writer = OpenMetricsWriter;

// Calls `write` with the name and the numbers of each site that has had a request.
template <class Write>
void for_each_site(Sites sites, const Totals& totals, Write&& write) {
  const std::size_t count = std::min(sites.size(), totals.sites.size());
  for (std::size_t at = 0; at < count; ++at) {
    const auto& numbers = totals.sites[at];
    if (std::ranges::any_of(numbers.durations, [](std::uint64_t n) { return n > 0; })) {
      write(std::string_view(sites[at]), numbers);
    }
  }
}

void write_counts(Writer& writer, Sites sites, const Totals& totals) {
  writer.family("h2server_http_requests", Writer::Type::counter, "", "Requests that have ended.");
  for_each_site(sites, totals, [&](std::string_view site, const auto& numbers) {
    for (std::size_t cell = 0; cell < numbers.requests.size(); ++cell) {
      if (numbers.requests[cell] == 0) continue;
      writer.sample({{"site", site},
                     {"method", method_names[cell / protocols / status_classes]},
                     {"status_class", class_names[cell / protocols % status_classes]},
                     {"protocol", protocol_names[cell % protocols]}},
                    numbers.requests[cell]);
    }
  });
}

void write_cut_offs(Writer& writer, Sites sites, const Totals& totals) {
  writer.family("h2server_http_responses_cut_off", Writer::Type::counter, "",
                "Responses that did not end as they should, by reason.");
  for_each_site(sites, totals, [&](std::string_view site, const auto& numbers) {
    for (std::size_t at = 1; at < cut_offs; ++at) {
      if (numbers.cut_off[at] == 0) continue;
      writer.sample({{"site", site}, {"reason", name_of(static_cast<CutOff>(at))}},
                    numbers.cut_off[at]);
    }
  });
}

// One counter for each of `values`, zero or not: these are few.
template <std::size_t size>
void write_all(Writer& writer, std::string_view label,
               const std::array<std::string_view, size>& names,
               const std::array<std::uint64_t, size>& values) {
  for (std::size_t at = 0; at < size; ++at) writer.sample({{label, names[at]}}, values[at]);
}

// Requests have a version each, connections only what their handshake chose: none is of HTTP/1.0.
void write_protocols(Writer& writer, const std::array<std::uint64_t, protocols>& values) {
  for (const Protocol protocol : {Protocol::http_1_1, Protocol::http_2}) {
    writer.sample({{"protocol", name_of(protocol)}}, values[static_cast<std::size_t>(protocol)]);
  }
}
}  // namespace

std::string_view name_of(Method method) noexcept {
  return method_names[static_cast<std::size_t>(method)];
}
std::string_view name_of(Protocol protocol) noexcept {
  return protocol_names[static_cast<std::size_t>(protocol)];
}
std::string_view name_of(Handshake result) noexcept {
  return handshake_names[static_cast<std::size_t>(result)];
}
std::string_view name_of(Group group) noexcept {
  return group_names[static_cast<std::size_t>(group)];
}
std::string_view name_of(Reset reset) noexcept {
  return reset_names[static_cast<std::size_t>(reset)];
}
std::string_view name_of(Flood flood) noexcept {
  return flood_names[static_cast<std::size_t>(flood)];
}

void write_requests(OpenMetricsWriter& writer, std::span<const std::string> sites,
                    const Totals& totals) {
  write_counts(writer, sites, totals);
  writer.family("h2server_http_request_duration_seconds", Writer::Type::histogram, "seconds",
                "From a request's complete head until its response's end.");
  for_each_site(sites, totals, [&](std::string_view site, const auto& numbers) {
    writer.histogram({{"site", site}}, duration_bounds_us, numbers.durations, numbers.duration_us);
  });
  writer.family("h2server_http_response_body_bytes", Writer::Type::counter, "bytes",
                "Bytes of response bodies.");
  for_each_site(sites, totals, [&](std::string_view site, const auto& numbers) {
    writer.sample({{"site", site}}, numbers.response_bytes);
  });
  writer.family("h2server_http_request_body_bytes", Writer::Type::counter, "bytes",
                "Bytes of request bodies.");
  for_each_site(sites, totals, [&](std::string_view site, const auto& numbers) {
    writer.sample({{"site", site}}, numbers.request_bytes);
  });
  write_cut_offs(writer, sites, totals);
}

void write_connections(OpenMetricsWriter& writer, const Totals& totals) {
  const auto& numbers = totals.workers;
  writer.family("h2server_connections_opened", Writer::Type::counter, "",
                "Connections by their protocol.");
  write_protocols(writer, numbers.connections_opened);
  writer.family("h2server_connections_open", Writer::Type::gauge, "",
                "Open connections by their protocol.");
  write_protocols(writer, numbers.connections_open);
  writer.family("h2server_tls_handshakes", Writer::Type::counter, "", "TLS handshakes by result.");
  write_all(writer, "result", handshake_names, numbers.handshake);
  writer.family("h2server_tls_key_exchanges", Writer::Type::counter, "",
                "TLS handshakes by the group of their key exchange.");
  write_all(writer, "group", group_names, numbers.group);
  writer.family("h2server_http2_stream_resets", Writer::Type::counter, "",
                "HTTP/2 streams that were reset, by whom.");
  write_all(writer, "by", reset_names, numbers.reset);
  writer.family("h2server_http2_floods", Writer::Type::counter, "",
                "HTTP/2 connections that were closed by flood control.");
  write_all(writer, "kind", flood_names, numbers.flood);
}

}  // namespace h2server::observe
