// Routes for everybody, for users with a password, and for programs with a token.
//
//   build/release/examples/authentication 8080
//   curl http://127.0.0.1:8080/
//   curl -u ada:engine http://127.0.0.1:8080/account
//   curl -H 'Authorization: Bearer token-of-robot' http://127.0.0.1:8080/api/status
//   curl -u ada:engine http://127.0.0.1:8080/account/admin         # 403
//
// Passwords and tokens are readable on the way: use TLS, except on this machine.
#include <h2server/h2server.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>

using namespace h2server;

// A service would store hashes that are made for passwords: in a PasswordFile, or, checked by
// run_blocking() in a PasswordLookup since that takes long, in its database.
bool password_is_right(std::string_view user, std::string_view password) {
  static const std::map<std::string, std::string, std::less<>> passwords = {
      {"ada", "engine"}, {"charles", "difference"}};
  const auto found = passwords.find(user);
  return found != passwords.end() && equal_in_constant_time(password, found->second);
}

std::optional<AuthenticatedUser> owner_of(std::string_view token) {
  if (!equal_in_constant_time(token, "token-of-robot")) return std::nullopt;
  return AuthenticatedUser{"robot"};
}

// A middleware of the program's own, inside of the authentication.
std::optional<Response> only_charles(Request& request) {
  if (request.attached<AuthenticatedUser>()->name == "charles") return std::nullopt;
  return Response::text("Only Charles may do this.\n", 403);
}

Response greet(Request& request) {
  return Response::text("Hello, " + request.attached<AuthenticatedUser>()->name + "!\n");
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s PORT\n", argv[0]), 2;
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  Server server({.host = "127.0.0.1", .port = port, .cleartext = true});
  server.get("/", [](Request&) { return Response::text("Everybody may read this.\n"); });

  Routes account = server.group("/account")
                       .with(basic_authentication("account", PasswordCheck(password_is_right)));
  account.get("", greet);
  account.with(only_charles).get("/admin", greet);

  Routes api = server.group("/api").with(bearer_authentication("api", TokenCheck(owner_of)));
  api.get("/status", [](Request&) { return Response::json("{\"well\":true}\n"); });

  const auto done = server.run([&server] {
    std::printf("http://127.0.0.1:%d/\n", server.addresses().front().port);
    std::fflush(stdout);
  });
  if (!done) std::fprintf(stderr, "%s\n", done.error().c_str());
  return done ? 0 : 1;
}
