// PasswordFile: users and the hashes of their passwords, in the format of Apache's htpasswd, for
// Basic authentication, and tokens of programs, for Bearer (RFC 6750).
//
//   const PasswordFile users("/etc/notes/users");   // htpasswd -B -C 10 /etc/notes/users alice
//   server.use(basic_authentication("notes", users));
//
// Hashes are bcrypt ($2y$, $2b$, $2a$), SHA-crypt ($6$, $5$) or yescrypt ($y$). A file with another
// kind of hash is refused, because passwords can be guessed from it fast: MD5 ($apr1$), {SHA}, DES
// and plain texts. Of a password, bcrypt reads 72 bytes; none is longer than 511.
//
// A line NAME:{SHA256}DIGITS is for a token: DIGITS is its SHA-256, as 64 hexadecimal digits. A
// fast hash is enough for a token of at least 128 random bits, which can't be guessed; it is wrong
// for what somebody chose. A token has at most 1024 bytes. A file has at most 1000 tokens; a name
// may have several, and a password.
//
// The check of a password takes as long as its hash, on a thread of run_blocking(). To check a user
// who does not exist takes as long as to check one who does. Credentials that were right are
// remembered, and pass at once.
//
// What is kept in memory: the names and hashes of the file; of the credentials that were right, and
// of the clients that sent them, an HMAC with a random key of this object; of others, a keyed hash
// of the client and of the user. No password and no token is kept.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "h2server/middleware.h"
#include "h2server/rate_limit.h"

#pragma GCC visibility push(default)
namespace h2server {

struct PasswordFileOptions {
  // Who guesses: clients of the same network are one. Behind a proxy, return what it says about its
  // client. Called on all workers concurrently.
  std::function<std::string(const Request&)> client = client_network;
  // How often a client may be wrong. Then its checks are answered with 429 and Retry-After; one
  // failure is forgotten every 30 s. At most 1000.
  std::uint32_t failures_max = 10;
  // How long credentials that were right pass without a check, after their last use. 0: not at all.
  // At most a day.
  std::chrono::seconds remembered{600};
  // Checks at the same time. Up to 128 more wait for their turn, and others get 503. Clients that
  // have been right at that user within a day have as many to themselves. At least 1. Twice as many
  // should be less than ServerOptions::blocking_threads_max.
  std::uint32_t checks_max = 4;
};

// All workers, and all copies, share one state. With a process per connection, a connection shares
// its state with no other.
class PasswordFile {
 public:
  struct State;

  // Reads the file, once. Throws std::system_error if that fails, std::invalid_argument for options
  // out of range and for what is wrong with the file, with its name and the number of the line. At
  // most 16 MiB and 100,000 users with passwords; at least one password or token. Lines that are
  // empty or begin with '#' are skipped, and what follows a hash after a colon is ignored.
  explicit PasswordFile(const std::string& path, PasswordFileOptions options = {});

 private:
  friend Middleware basic_authentication(const std::string& realm, const PasswordFile& file);

  std::shared_ptr<State> state_;
};

// As the other forms in h2server/authentication.h, but for the kinds of credentials that the file
// has: Basic, Bearer or both. Without credentials that pass: 401 with a challenge for each kind, or
// 429 or 503 with Retry-After. A wrong token is a failure of its client, as a wrong password is.
// With a process per connection each process counts for itself, so that nothing limits guesses.
//
// A user has as many failures as ten clients, wherever they come from, and as fast as these are
// forgotten. So one client can't keep a user out, and a thousand clients don't guess a hundred
// times as fast. A client that was right about a user within the last day is exempt from that: it
// gets in while others guess.
[[nodiscard]] Middleware basic_authentication(const std::string& realm, const PasswordFile& file);

}  // namespace h2server
#pragma GCC visibility pop
