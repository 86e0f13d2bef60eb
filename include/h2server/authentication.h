// Authentication of users: Basic (RFC 7617) and Bearer (RFC 6750). Use them over TLS only: they
// send secrets as they are.
//
//   Routes admin = server.group("/admin").with(basic_authentication("admin", "alice", secret));
//   admin.get("/", [](Request& request) {
//     return Response(200, request.attached<AuthenticatedUser>()->name);
//   });
//
// The first kind of check answers at once, the second may wait. All workers call a check
// concurrently. Without credentials that pass, the response is 401 with WWW-Authenticate and no
// body (see error_pages()). All functions throw std::invalid_argument for an empty check, and for a
// realm or a secret that can't be sent.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "h2server/middleware.h"
#include "h2server/task.h"

#pragma GCC visibility push(default)
namespace h2server {

// Attached to requests that have passed.
struct AuthenticatedUser {
  std::string name;
};

using PasswordCheck = std::function<bool(std::string_view user, std::string_view password)>;
// The arguments live until the task has ended.
using PasswordLookup =
    std::function<Task<bool>(const std::string& user, const std::string& password)>;

[[nodiscard]] Middleware basic_authentication(const std::string& realm, PasswordCheck check);
[[nodiscard]] Middleware basic_authentication(const std::string& realm, PasswordLookup check);
// The only user. The comparison takes constant time, see equal_in_constant_time().
[[nodiscard]] Middleware basic_authentication(const std::string& realm, std::string user,
                                              std::string password);

// A token names its user. nullopt: it is not valid.
using TokenCheck = std::function<std::optional<AuthenticatedUser>(std::string_view token)>;
using TokenLookup = std::function<Task<std::optional<AuthenticatedUser>>(const std::string& token)>;

[[nodiscard]] Middleware bearer_authentication(const std::string& realm, TokenCheck check);
[[nodiscard]] Middleware bearer_authentication(const std::string& realm, TokenLookup check);
[[nodiscard]] Middleware bearer_authentication(const std::string& realm, std::string user,
                                               std::string token);

}  // namespace h2server
#pragma GCC visibility pop
