// Authorization: the credentials of a request (RFC 9110, 11.4 and 11.6.2), as Basic (RFC 7617) and
// Bearer (RFC 6750), and the comparison of secrets.
//
//   const auto token = h2server::bearer_token(request);
//   if (!token || !h2server::equal_in_constant_time(*token, secret)) ...   // 401
//
// Pure functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/query.h"
#include "h2server/request.h"

#pragma GCC visibility push(default)
namespace h2server {

// Either a token or parameters; the grammar allows neither, too. The views are valid as long as the
// parsed text.
struct Credentials {
  std::string_view scheme;            // as received; compare it case-insensitively
  std::string_view token;             // token68
  std::vector<Parameter> parameters;  // without quotes and escapes, in order of appearance
};

// Parses the value of Authorization or Proxy-Authorization. Returns nullopt if it is malformed, or
// if a parameter's name repeats (11.2; names are case-insensitive).
[[nodiscard]] std::optional<Credentials> parse_credentials(std::string_view value);

struct BasicCredentials {
  std::string user;
  std::string password;
};

// Both return nullopt if the request has no Authorization field, several, or one of another scheme
// or form.
//
// The user name ends at the first colon. Control characters are refused (RFC 7617, 2); otherwise
// any bytes may occur, as a rule UTF-8.
[[nodiscard]] std::optional<BasicCredentials> basic_credentials(const Request& request);
// The token is a view of the request's field (RFC 6750, 2.1).
[[nodiscard]] std::optional<std::string_view> bearer_token(const Request& request);

// Compares secrets: the time depends only on the sizes, so it does not tell how many bytes are
// right. Secrets of different sizes are unequal at once.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept;

}  // namespace h2server
#pragma GCC visibility pop
