#include "h2server/cors.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "http/arguments.h"
#include "http/fields/syntax.h"
#include "http/fields/target.h"
#include "http/message.h"

namespace h2server {

namespace {

bool is_any(const std::vector<std::string>& words) { return words.size() == 1 && words[0] == "*"; }

// RFC 6454, 6.2, as browsers serialise it; otherwise it would never match.
bool is_origin(std::string_view origin) {
  const std::size_t end = origin.find("://");
  if (end == std::string_view::npos || end == 0) return false;
  const std::string_view scheme = origin.substr(0, end);
  const std::string_view authority = origin.substr(end + 3);
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto is_scheme_character = [](char c) {
    return base::is_alphanumeric(c) || std::string_view("+-.").contains(c);
  };
  const std::optional<http::Authority> parts = http::parse_authority(authority);
  const bool has_usual_port = (scheme == "http" && authority.ends_with(":80")) ||
                              (scheme == "https" && authority.ends_with(":443"));
  return parts && !has_usual_port && !authority.ends_with(':') &&
         std::ranges::none_of(origin, is_upper) && std::ranges::all_of(scheme, is_scheme_character);
}

// Returns the list as a field's value.
std::string join_names(const std::vector<std::string>& names, bool credentials) {
  for (const std::string& name : names) {
    http::require(http::is_token(name), "cors: not a field name: " + name);
    // Fetch, "CORS protocol and credentials": then "*" is an ordinary name.
    http::require(name != "*" || (is_any(names) && !credentials), "cors: \"*\" beside other names");
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// The value of a field that must not be repeated.
std::optional<std::string_view> only_value(const Request& request, std::string_view name) {
  std::optional<std::string_view> value;
  for (const Field& line : request.head().fields) {
    if (!http::equals_ignoring_case(line.name, name)) continue;
    if (value) return std::nullopt;
    value = line.value;
  }
  return value;
}

class Cors {
 public:
  explicit Cors(CorsOptions options)
      : origins_(std::move(options.origins)),
        any_(is_any(origins_)),
        credentials_(options.credentials),
        request_fields_(join_names(options.request_fields, credentials_)),
        exposed_fields_(join_names(options.exposed_fields, credentials_)),
        max_age_(std::to_string(options.max_age.count())) {
    http::require(!origins_.empty(), "cors: no origin");
    http::require(!any_ || !credentials_, "cors: every origin with credentials");
    http::require(options.max_age.count() >= 0, "cors: a negative max age");
    for (const std::string& origin : origins_) {
      http::require(any_ || is_origin(origin), "cors: not an origin: " + origin);
    }
    for (const Method method : options.methods) {
      http::require(method != Method::unknown, "cors: an unknown method");
      if (!methods_.empty()) methods_ += ", ";
      methods_ += http::method_name(method);
    }
  }

  // Fetch, "CORS-preflight request".
  [[nodiscard]] std::optional<Response> answer_preflight(const Request& request) const {
    if (request.method() != Method::OPTIONS || !request.field("origin") ||
        !request.field("access-control-request-method")) {
      return std::nullopt;
    }
    Response response(204);
    if (!add_origin(request, response)) return response;
    if (!methods_.empty()) response.add("Access-Control-Allow-Methods", methods_);
    if (!request_fields_.empty()) response.add("Access-Control-Allow-Headers", request_fields_);
    response.add("Access-Control-Max-Age", max_age_);
    return response;
  }

  void add_fields(const Request& request, Response& response) const {
    response.remove("Access-Control-Allow-Origin").remove("Access-Control-Allow-Credentials");
    if (!add_origin(request, response) || exposed_fields_.empty()) return;
    response.replace("Access-Control-Expose-Headers", exposed_fields_);
  }

 private:
  // Returns false if the request has no origin that is allowed.
  bool add_origin(const Request& request, Response& response) const {
    if (any_) {
      response.add("Access-Control-Allow-Origin", "*");
      return true;
    }
    // Fetch, "CORS protocol and HTTP caches": also without Origin, since a cache would keep that
    // response for all origins.
    response.add("Vary", "Origin");
    const std::optional<std::string_view> origin = only_value(request, "origin");
    if (!origin || std::ranges::find(origins_, *origin) == origins_.end()) return false;
    response.add("Access-Control-Allow-Origin", *origin);
    if (credentials_) response.add("Access-Control-Allow-Credentials", "true");
    return true;
  }

  std::vector<std::string> origins_;
  bool any_;
  bool credentials_;
  std::string methods_;
  std::string request_fields_;
  std::string exposed_fields_;
  std::string max_age_;  // seconds
};

}  // namespace

Middleware cors(CorsOptions options) {
  const auto policy = std::make_shared<const Cors>(std::move(options));
  return {
      [policy](Request& request) { return policy->answer_preflight(request); },
      [policy](Request& request, Response& response) { policy->add_fields(request, response); }};
}

}  // namespace h2server
