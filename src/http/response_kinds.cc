// The responses that handlers send most: texts, redirects and problems.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "base/text/percent_encoding.h"
#include "h2server/json.h"
#include "h2server/problem.h"
#include "h2server/response.h"
#include "http/arguments.h"
#include "http/fields/syntax.h"
#include "http/message.h"

namespace h2server {

namespace {

// The characters of RFC 3986, 2. Does not check where each may stand.
bool is_uri_reference(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%' && !base::decode_percent(text.substr(i))) return false;
    const bool allowed =
        base::is_alphanumeric(c) || std::string_view("-._~:/?#[]@!$&'()*+,;=%").contains(c);
    if (!allowed) return false;
  }
  return true;
}

// RFC 9457, 3.2.
bool is_extension_name(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 5> standard = {"type", "status", "title", "detail",
                                                        "instance"};
  const auto is_octet = [](char c) { return base::is_alphanumeric(c) || c == '_'; };
  return name.size() >= 3 && base::is_alphanumeric(name.front()) && !base::is_digit(name.front()) &&
         std::ranges::all_of(name, is_octet) && std::ranges::find(standard, name) == standard.end();
}

void check(const Problem& problem) {
  http::require(is_uri_reference(problem.type), "a problem's type is no URI reference");
  http::require(is_uri_reference(problem.instance), "a problem's instance is no URI reference");
  const std::vector<Problem::Member>& members = problem.extensions;
  for (auto member = members.begin(); member != members.end(); ++member) {
    http::require(is_extension_name(member->name) && !member->json.empty() &&
                      std::ranges::find(members.begin(), member, member->name,
                                        &Problem::Member::name) == member,
                  "not a problem's extension: " + member->name);
  }
}

}  // namespace

Response Response::text(std::string body, int status) {
  return Response(status, std::move(body), "text/plain; charset=utf-8");
}

Response Response::html(std::string body, int status) {
  return Response(status, std::move(body), "text/html; charset=utf-8");
}

Response Response::json(std::string body, int status) {
  return Response(status, std::move(body), "application/json");
}

Response Response::redirect(std::string_view location, int status) {
  constexpr std::array<int, 5> statuses = {301, 302, 303, 307, 308};
  http::require(std::ranges::find(statuses, status) != statuses.end(),
                "not the status of a redirect: " + std::to_string(status));
  http::require(!location.empty(), "a redirect without a location");
  std::string escaped;
  base::append_uri_reference(escaped, location);
  Response response(status);
  response.add("Location", escaped);
  return response;
}

Response Response::problem(const Problem& problem) {
  check(problem);
  const bool titled = !problem.title.empty() || !problem.type.empty();
  const std::string_view title = titled ? problem.title : http::reason_phrase(problem.status);
  std::string json = "{";
  if (!problem.type.empty()) json += fmt::format("\"type\":{},", json_string(problem.type));
  if (!title.empty()) json += fmt::format("\"title\":{},", json_string(title));
  json += fmt::format("\"status\":{}", problem.status);
  if (!problem.detail.empty()) json += fmt::format(",\"detail\":{}", json_string(problem.detail));
  if (!problem.instance.empty()) {
    json += fmt::format(",\"instance\":{}", json_string(problem.instance));
  }
  for (const Problem::Member& member : problem.extensions) {
    json += fmt::format(",\"{}\":{}", member.name, member.json);
  }
  json += "}\n";
  return Response(problem.status, std::move(json), "application/problem+json");
}

}  // namespace h2server
