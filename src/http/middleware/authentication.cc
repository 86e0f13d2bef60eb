#include "h2server/authentication.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "h2server/authorization.h"
#include "http/arguments.h"
#include "http/fields/challenge.h"
#include "http/fields/syntax.h"

namespace h2server {

using http::basic_challenge;
using http::unauthorized;

namespace {

bool is_printable(std::string_view text) noexcept {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  return std::ranges::none_of(text, is_control);
}

// Returns the challenge for a realm (RFC 9110, 11.5): a quoted string.
std::string challenge_of(std::string_view scheme, std::string_view realm) {
  http::require(is_printable(realm), "a realm with control characters");
  std::string challenge = std::string(scheme) + " realm=\"";
  for (const char c : realm) {
    if (c == '"' || c == '\\') challenge += '\\';
    challenge += c;
  }
  return challenge + '"';
}

struct BearerChallenges {
  explicit BearerChallenges(const std::string& realm)
      : missing(http::bearer_challenge(realm)),
        invalid(missing + std::string(http::invalid_token)) {}
  std::string missing;  // RFC 6750, 3.1: without an error code
  std::string invalid;
};

Task<Response> look_up_password(Request& request, Next next,
                                std::shared_ptr<const PasswordLookup> check,
                                std::shared_ptr<const std::string> challenge) {
  std::optional<BasicCredentials> given = basic_credentials(request);
  if (!given) co_return unauthorized(*challenge);
  const bool passed = co_await (*check)(given->user, given->password);
  if (!passed) co_return unauthorized(*challenge);
  request.attach(AuthenticatedUser{std::move(given->user)});
  given.reset();  // the handler may run for long
  Response response = co_await next(request);
  co_return std::move(response);
}

Task<Response> look_up_token(Request& request, Next next, std::shared_ptr<const TokenLookup> check,
                             std::shared_ptr<const BearerChallenges> challenges) {
  const std::optional<std::string_view> given = bearer_token(request);
  if (!given) co_return unauthorized(challenges->missing);
  const std::string token(*given);
  std::optional<AuthenticatedUser> user = co_await (*check)(token);
  if (!user) co_return unauthorized(challenges->invalid);
  request.attach(*std::move(user));
  Response response = co_await next(request);
  co_return std::move(response);
}

}  // namespace

// RFC 7617, 2.1: browsers encode names and passwords in UTF-8 if they are asked to.
std::string http::basic_challenge(std::string_view realm) {
  return challenge_of("Basic", realm) + ", charset=\"UTF-8\"";
}

std::string http::bearer_challenge(std::string_view realm) { return challenge_of("Bearer", realm); }

Response http::unauthorized(const std::string& challenge) {
  Response response(401);
  response.add("WWW-Authenticate", challenge);
  return response;
}

Middleware basic_authentication(const std::string& realm, PasswordCheck check) {
  http::require(check != nullptr, "basic_authentication without a check");
  return [check = std::move(check),
          challenge = basic_challenge(realm)](Request& request) -> std::optional<Response> {
    std::optional<BasicCredentials> given = basic_credentials(request);
    if (!given || !check(given->user, given->password)) return unauthorized(challenge);
    request.attach(AuthenticatedUser{std::move(given->user)});
    return std::nullopt;
  };
}

Middleware basic_authentication(const std::string& realm, PasswordLookup check) {
  http::require(check != nullptr, "basic_authentication without a check");
  return [check = std::make_shared<const PasswordLookup>(std::move(check)),
          challenge = std::make_shared<const std::string>(basic_challenge(realm))](Request& request,
                                                                                   Next next) {
    return look_up_password(request, next, check, challenge);
  };
}

Middleware basic_authentication(const std::string& realm, std::string user, std::string password) {
  http::require(is_printable(user) && !user.contains(':') && is_printable(password),
                "a user or a password that can't be sent");
  const auto check = [user = std::move(user), password = std::move(password)](
                         std::string_view given_user, std::string_view given_password) {
    const bool is_user = equal_in_constant_time(given_user, user);
    const bool is_password = equal_in_constant_time(given_password, password);
    return is_user && is_password;
  };
  return basic_authentication(realm, PasswordCheck(check));
}

Middleware bearer_authentication(const std::string& realm, TokenCheck check) {
  http::require(check != nullptr, "bearer_authentication without a check");
  return [check = std::move(check),
          challenges = BearerChallenges(realm)](Request& request) -> std::optional<Response> {
    const std::optional<std::string_view> token = bearer_token(request);
    if (!token) return unauthorized(challenges.missing);
    std::optional<AuthenticatedUser> user = check(*token);
    if (!user) return unauthorized(challenges.invalid);
    request.attach(*std::move(user));
    return std::nullopt;
  };
}

Middleware bearer_authentication(const std::string& realm, TokenLookup check) {
  http::require(check != nullptr, "bearer_authentication without a check");
  return
      [check = std::make_shared<const TokenLookup>(std::move(check)),
       challenges = std::make_shared<const BearerChallenges>(realm)](Request& request, Next next) {
        return look_up_token(request, next, check, challenges);
      };
}

Middleware bearer_authentication(const std::string& realm, std::string user, std::string token) {
  const std::string field = "Bearer " + token;
  const std::optional<Credentials> sent = parse_credentials(field);
  http::require(sent && sent->token == token && !token.empty(), "a token that can't be sent");
  const auto check = [user = std::move(user), token = std::move(token)](
                         std::string_view given) -> std::optional<AuthenticatedUser> {
    if (!equal_in_constant_time(given, token)) return std::nullopt;
    return AuthenticatedUser{user};
  };
  return bearer_authentication(realm, TokenCheck(check));
}

}  // namespace h2server
