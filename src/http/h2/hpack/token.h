// Token: one byte for each field name that HPACK's static table or this server knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace h2server::http::h2::hpack {

// The names of the static table in its order (RFC 7541, appendix A), then others.
enum class Token : std::uint8_t {
  none,  // any other name
  authority,
  method,
  path,
  scheme,
  status,
  accept_charset,
  accept_encoding,
  accept_language,
  accept_ranges,
  accept,
  access_control_allow_origin,
  age,
  allow,
  authorization,
  cache_control,
  content_disposition,
  content_encoding,
  content_language,
  content_length,
  content_location,
  content_range,
  content_type,
  cookie,
  date,
  etag,
  expect,
  expires,
  from,
  host,
  if_match,
  if_modified_since,
  if_none_match,
  if_range,
  if_unmodified_since,
  last_modified,
  link,
  location,
  max_forwards,
  proxy_authenticate,
  proxy_authorization,
  range,
  referer,
  refresh,
  retry_after,
  server,
  set_cookie,
  strict_transport_security,
  transfer_encoding,
  user_agent,
  vary,
  via,
  www_authenticate,
  // Not in the static table.
  protocol,  // RFC 8441, 4
  connection,
  keep_alive,
  proxy_connection,
  upgrade,
  te,
  priority,
  other_pseudo,  // any other name that begins with ':'
};
inline constexpr std::size_t token_count = static_cast<std::size_t>(Token::other_pseudo) + 1;

// Returns true if the token's names begin with ':'.
constexpr bool is_pseudo(Token token) noexcept {
  return (token >= Token::authority && token <= Token::status) || token == Token::protocol ||
         token == Token::other_pseudo;
}

// Case-sensitive: "Host" is Token::none.
Token token_of(std::string_view name) noexcept;

}  // namespace h2server::http::h2::hpack
