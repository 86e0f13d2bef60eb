#include "app/admin/admin_access.h"

#include <charconv>
#include <optional>

#include "app/admin/own_names.h"
#include "base/text/text.h"
#include "h2server/authorization.h"
#include "http/fields/challenge.h"
#include "http/message.h"

namespace h2server::app {

namespace {

constexpr const char* realm = "h2server admin";

std::optional<Response> ask_for_token(const Request& request, std::string_view token) {
  const std::optional<std::string_view> bearer = bearer_token(request);
  if (bearer && equal_in_constant_time(*bearer, token)) return std::nullopt;
  const std::optional<BasicCredentials> basic = basic_credentials(request);
  if (basic && equal_in_constant_time(basic->password, token)) return std::nullopt;
  Response response(401);
  response.add("WWW-Authenticate", http::basic_challenge(realm));
  response.add("WWW-Authenticate", http::bearer_challenge(realm));
  return response;
}

std::optional<Response> refuse_names(const Request& request) {
  // A client of a Unix socket chooses any name, and no browser is one.
  const bool is_local = request.connection().is_unix_socket();
  if (is_local || is_address_or_localhost(request.head().authority)) return std::nullopt;
  return http::error_response(421);
}

}  // namespace

ListenerOptions admin_listener(std::string_view address) {
  constexpr std::string_view unix_prefix = "unix:";
  constexpr unsigned owner_only = 0600;
  if (address.starts_with(unix_prefix)) {
    return {.unix_path = std::string(address.substr(unix_prefix.size())),
            .unix_mode = owner_only,
            .cleartext = true};
  }
  const std::size_t colon = address.rfind(':');
  std::string_view host = address.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  ListenerOptions listener{.host = std::string(host), .port = 0, .cleartext = true};
  const std::string_view port = address.substr(colon + 1);
  std::from_chars(port.data(), port.data() + port.size(), listener.port);
  return listener;
}

Middleware admin_access(const config::AdminSettings& admin) {
  return [token = admin.token](Request& request) -> std::optional<Response> {
    const std::string_view path = request.path();
    if (path == healthy_path || path == ready_path) return std::nullopt;
    return token.empty() ? refuse_names(request) : ask_for_token(request, token);
  };
}

}  // namespace h2server::app
