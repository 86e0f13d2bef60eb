#include "observe/access_line.h"

#include <algorithm>
#include <chrono>

#include "observe/line_text.h"
#include "observe/url_parts.h"

namespace h2server::observe {

namespace {
// The pieces that no peer chooses: names, numbers, punctuation. The longest line of JSON has 700.
constexpr std::size_t fixed_bytes_max = 1024;
// What peers choose, before escapes.
constexpr std::size_t peers_bytes_max =
    LineLimits::method + 2 * LineLimits::target + LineLimits::authority + LineLimits::user +
    2 * LineLimits::referer + LineLimits::user_agent + LineLimits::trace_id + LineLimits::route +
    LineLimits::site + LineLimits::address;
constexpr std::int64_t second_max = 253'402'300'799;  // 9999-12-31 23:59:59

constexpr std::size_t moment_copied = 48;  // a constant, so that the copy is three moves

struct Calendar {
  std::uint64_t year, month, day, hour, minute, second;
};

Calendar calendar_of(std::int64_t unix_second) noexcept {
  const std::chrono::sys_seconds moment{std::chrono::seconds{unix_second}};
  const auto days = std::chrono::floor<std::chrono::days>(moment);
  const std::chrono::year_month_day date{days};
  const auto second_of_day = static_cast<std::uint64_t>((moment - days).count());
  return {static_cast<std::uint64_t>(static_cast<int>(date.year())),
          static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()),
          second_of_day / 3600,
          second_of_day / 60 % 60,
          second_of_day % 60};
}

char* put_clock(char* to, const Calendar& moment) noexcept {
  to = put(put_pair(to, moment.hour), ":");
  to = put(put_pair(to, moment.minute), ":");
  return put_pair(to, moment.second);
}

char* put_year(char* to, const Calendar& moment) noexcept {
  return put_pair(put_pair(to, moment.year / 100), moment.year % 100);
}

// ` [24/Nov/2026:18:22:51 +0000] "`
char* put_text_moment(char* to, const Calendar& moment) noexcept {
  constexpr std::string_view names = "JanFebMarAprMayJunJulAugSepOctNovDec";
  to = put(put_pair(put(to, " ["), moment.day), "/");
  to = put(put(to, names.substr(3 * (moment.month - 1), 3)), "/");
  to = put(put_year(to, moment), ":");
  return put(put_clock(to, moment), " +0000] \"");
}

// `{"timestamp":"2026-11-24T18:22:51.`
char* put_json_moment(char* to, const Calendar& moment) noexcept {
  to = put(put_year(put(to, "{\"timestamp\":\""), moment), "-");
  to = put(put_pair(to, moment.month), "-");
  to = put(put_pair(to, moment.day), "T");
  return put(put_clock(to, moment), ".");
}

char* put_status(char* to, int status) noexcept {
  const auto value = static_cast<std::uint64_t>(std::clamp(status, 0, 999));
  *to = static_cast<char>('0' + value / 100);
  return put_pair(to + 1, value % 100);
}

// A field of the text format. "-" stands for an empty one.
template <Escape escape>
char* put_field(char* to, std::string_view text, std::size_t size_max) noexcept {
  if (text.empty()) return put(to, "-");
  return put_escaped<escape>(to, text, size_max);
}

// Ends a member of JSON.
template <std::size_t size>
char* put_member(char* to, const char (&begin)[size], std::string_view text,
                 std::size_t size_max) noexcept {
  to = put_escaped<Escape::json>(put(to, begin), text, size_max);
  return put(to, "\",");
}

template <std::size_t size>
char* put_optional(char* to, const char (&begin)[size], std::string_view text,
                   std::size_t size_max) noexcept {
  return text.empty() ? to : put_member(to, begin, text, size_max);
}

template <std::size_t size>
char* put_number(char* to, const char (&begin)[size], std::uint64_t value) noexcept {
  return put(put_decimal(put(to, begin), value), ",");
}

// A URL, as the options say.
PublicUrl url_of(std::string_view url, bool with_query) noexcept {
  PublicUrl parts = without_user_info(url);
  if (!with_query) parts.rest = split_query(parts.rest).path;
  return parts;
}

char* put_request_line(char* to, const AccessRecord& record, bool queries) noexcept {
  if (record.method.empty()) return put(to, "-");
  to = put(put_escaped<Escape::token>(to, record.method, LineLimits::method), " ");
  // A target in the usual form has no user information.
  const bool usual = record.target.starts_with('/');
  const std::string_view target = usual
                                      ? (queries ? record.target : split_query(record.target).path)
                                      : url_of(record.target, queries).rest;
  if (!usual) to = put(to, without_user_info(record.target).scheme);
  to = put_field<Escape::token>(to, target, LineLimits::target);
  if (record.version >= 20) return put(to, " HTTP/2.0");
  return record.version == 10 ? put(to, " HTTP/1.0") : put(to, " HTTP/1.1");
}

char* put_json_request(char* to, const AccessRecord& record, bool queries) noexcept {
  to = put_optional(to, "\"http.request.method\":\"", record.method, LineLimits::method);
  if (!record.target.empty()) {
    const PathAndQuery parts = split_target(record.target);
    to = put_member(to, "\"url.path\":\"", parts.path, LineLimits::target);
    if (queries) to = put_optional(to, "\"url.query\":\"", parts.query, LineLimits::target);
  }
  to =
      record.encrypted ? put(to, "\"url.scheme\":\"https\",") : put(to, "\"url.scheme\":\"http\",");
  if (record.version >= 20) return put(to, "\"network.protocol.version\":\"2\",");
  return record.version == 10 ? put(to, "\"network.protocol.version\":\"1.0\",")
                              : put(to, "\"network.protocol.version\":\"1.1\",");
}

char* put_json_response(char* to, const AccessRecord& record) noexcept {
  if (record.status != 0) {
    to = put(to, "\"http.response.status_code\":");
    to = put(put_status(to, std::max(record.status, 100)), ",");
  }
  to = put_number(to, "\"http.response.body.size\":", record.response_bytes);
  if (record.request_bytes != 0) {
    to = put_number(to, "\"http.request.body.size\":", record.request_bytes);
  }
  return to;
}

char* put_json_peers(char* to, const AccessRecord& record) noexcept {
  if (record.forwarded_client.empty()) {
    to = put(to, record.connection.members);
  } else {
    to = put_member(to, "\"client.address\":\"", record.forwarded_client, LineLimits::address);
    to = put(to, record.connection.peer_members);
  }
  return to;
}

char* put_json_server(char* to, std::string_view authority, std::string_view site) noexcept {
  if (!authority.empty()) {
    const HostAndPort server = split_authority(authority);
    to = put_member(to, "\"server.address\":\"", server.host, LineLimits::authority);
    if (!server.port.empty()) to = put(put(put(to, "\"server.port\":"), server.port), ",");
  }
  return put_optional(to, "\"h2server.site\":\"", site, LineLimits::site);
}

char* put_json_names(char* to, const AccessRecord& record, bool queries) noexcept {
  to = put_optional(to, "\"user_agent.original\":\"", record.user_agent, LineLimits::user_agent);
  if (!record.referer.empty()) {
    const PublicUrl url = url_of(record.referer, queries);
    to = put(to, "\"http.request.header.referer\":\"");
    to = put_escaped<Escape::json>(to, url.scheme, LineLimits::referer);
    to = put(put_escaped<Escape::json>(to, url.rest, LineLimits::referer), "\",");
  }
  to = put_optional(to, "\"http.route\":\"", record.route, LineLimits::route);
  to = put_optional(to, "\"enduser.id\":\"", record.user, LineLimits::user);
  to = put_optional(to, "\"trace_id\":\"", record.trace_id, LineLimits::trace_id);
  if (record.stream != 0) to = put_number(to, "\"h2server.stream_id\":", record.stream);
  if (record.cut_off == CutOff::none) return to;
  return put(put(put(to, "\"error.type\":\""), name_of(record.cut_off)), "\",");
}
}  // namespace

std::size_t LineFormatter::bytes_max(const AccessRecord& record) noexcept {
  // The target and the referer may be written in two pieces.
  const std::size_t peers_bytes = record.method.size() + 2 * record.target.size() +
                                  record.authority.size() + record.user.size() +
                                  2 * record.referer.size() + record.user_agent.size() +
                                  record.trace_id.size() + record.route.size() +
                                  record.site.size() + record.forwarded_client.size();
  return fixed_bytes_max + record.connection.members.size() +
         record.connection.peer_members.size() + record.connection.client.size() +
         escaped_bytes_max(peers_bytes, peers_bytes_max);
}

std::uint32_t LineFormatter::set_moment(std::int64_t unix_us) noexcept {
  unix_us = std::clamp<std::int64_t>(unix_us, 0, second_max * 1'000'000 + 999'999);
  const std::int64_t second = unix_us / 1'000'000;
  if (second != second_) {
    const Calendar moment = calendar_of(second);
    const char* const end = options_.format == LineFormat::json
                                ? put_json_moment(moment_.data(), moment)
                                : put_text_moment(moment_.data(), moment);
    moment_bytes_ = static_cast<std::size_t>(end - moment_.data());
    second_ = second;
  }
  return static_cast<std::uint32_t>(unix_us - second * 1'000'000);
}

void LineFormatter::set_server(const AccessRecord& record) {
  authority_ = record.authority.substr(0, LineLimits::authority + 1);
  site_ = record.site.substr(0, LineLimits::site + 1);
  const char* const end = put_json_server(server_.data(), authority_, site_);
  server_bytes_ = static_cast<std::size_t>(end - server_.data());
}

char* LineFormatter::write_text(const AccessRecord& record, char* to) noexcept {
  set_moment(record.begun_unix_us);
  if (record.forwarded_client.empty()) {
    to = record.connection.client.empty() ? put(to, "-") : put(to, record.connection.client);
  } else {
    to = put_escaped<Escape::token>(to, record.forwarded_client, LineLimits::address);
  }
  to = put_field<Escape::token>(put(to, " - "), record.user, LineLimits::user);
  std::memcpy(to, moment_.data(), moment_copied);
  to = put_request_line(to + moment_bytes_, record, options_.queries);
  to = put(put_status(put(to, "\" "), record.status), " ");
  to = put(put_decimal(to, record.response_bytes), " \"");
  const PublicUrl referer = url_of(record.referer, options_.queries);
  to = put_escaped<Escape::text>(to, referer.scheme, LineLimits::referer);
  to = put_field<Escape::text>(to, referer.rest, LineLimits::referer);
  to = put_field<Escape::text>(put(to, "\" \""), record.user_agent, LineLimits::user_agent);
  return put(to, "\"\n");
}

char* LineFormatter::write_json(const AccessRecord& record, char* to) {
  const std::uint32_t us = set_moment(record.begun_unix_us);
  std::memcpy(to, moment_.data(), moment_copied);
  to = put(put_six_digits(to + moment_bytes_, us), "Z\",");
  to = put_json_request(to, record, options_.queries);
  to = put_json_response(to, record);
  to = put_json_peers(to, record);
  if (record.authority != authority_ || record.site != site_) [[unlikely]]
    set_server(record);
  to = put(to, std::string_view(server_.data(), server_bytes_));
  to = put_json_names(to, record, options_.queries);
  if (record.first_byte_us >= 0) {
    to = put_seconds(put(to, "\"h2server.time_to_first_byte\":"), record.first_byte_us);
    to = put(to, ",");
  }
  to = put_seconds(put(to, "\"http.server.request.duration\":"), record.duration_us);
  return put(to, "}\n");
}

std::size_t LineFormatter::write(const AccessRecord& record, char* to) {
  static_assert(moment_copied == moment_room);
  const char* const end =
      options_.format == LineFormat::json ? write_json(record, to) : write_text(record, to);
  return static_cast<std::size_t>(end - to);
}

}  // namespace h2server::observe
