#include "h2server/password_file.h"
#include "base/clock.h"

#include <cerrno>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/keyed_hash.h"
#include "base/shared_objects.h"
#include "file/whole_file.h"
#include "h2server/authentication.h"
#include "h2server/authorization.h"
#include "h2server/blocking.h"
#include "h2server/failure.h"
#include "http/fields/challenge.h"
#include "net/crypto/tls_keyed_digest.h"
#include "server/passwords/check_slots.h"
#include "server/passwords/guess_limits.h"
#include "server/passwords/remembered.h"
#include "server/passwords/table.h"

namespace h2server {

namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;
// Remembered credentials, and pairs of a client and a user. 160 KiB each.
constexpr std::size_t digests_max = 4096;
constexpr std::int64_t client_known_ns = 86'400 * ns_per_s;
constexpr std::uint32_t checks_waiting_max = 128;  // the requests that a browser sends at once

// Throws as the constructor of PasswordFile.
std::string read_file(const std::string& path) {
  Result<std::string, int> text = file::read_whole_file(path, 16 << 20);
  if (text) return *std::move(text);
  if (text.error() == ENOTSUP) throw std::invalid_argument(path + ": not a regular file");
  if (text.error() == EFBIG) throw std::invalid_argument(path + ": more than 16 MiB");
  throw std::system_error(text.error(), std::generic_category(), path);
}

server::PasswordTable read_table(const std::string& path) {
  Result<server::PasswordTable, std::string> table =
      server::PasswordTable::parse(read_file(path), path);
  if (!table) throw std::invalid_argument(table.error());
  return *std::move(table);
}

PasswordFileOptions checked(PasswordFileOptions options) {
  constexpr std::chrono::hours remembered_max{24};
  const bool valid = options.client != nullptr && options.failures_max >= 1 &&
                     options.failures_max <= 1000 && options.remembered.count() >= 0 &&
                     options.remembered <= remembered_max && options.checks_max >= 1;
  if (!valid) throw std::invalid_argument("PasswordFile without a client, or out of range");
  return options;
}

// What is remembered of guesses. All objects of one file share it, so that a reload forgets none.
struct Guesses {
  explicit Guesses(std::uint32_t failures_max) : limits(failures_max) {}

  const net::KeyedDigest key;
  server::RememberedDigests known_clients{digests_max, client_known_ns};
  server::GuessLimits limits;
};

std::shared_ptr<Guesses> guesses_of(const std::string& path, std::uint32_t failures_max) {
  static base::SharedObjects<std::pair<std::string, std::uint32_t>, Guesses> all;
  return all.get({path, failures_max}, failures_max);
}

}  // namespace

struct PasswordFile::State {
  State(const std::string& path, PasswordFileOptions given)
      : options(checked(std::move(given))),
        table(read_table(path)),
        guesses(guesses_of(path, options.failures_max)),
        passed(digests_max, options.remembered.count() * ns_per_s),
        slots(options.checks_max, checks_waiting_max),
        slots_of_known(options.checks_max, checks_waiting_max) {}

  // A name contains no colon, and no credentials contain NUL: so the texts are unambiguous.
  [[nodiscard]] server::RememberedDigests::Digest digest_of(const BasicCredentials& given) const {
    return guesses->key.of(given.user + ':' + given.password);
  }
  // A token has no colon (RFC 6750, 2.1), which all other credentials have.
  [[nodiscard]] server::RememberedDigests::Digest digest_of(std::string_view token) const {
    return guesses->key.of(token);
  }
  [[nodiscard]] server::RememberedDigests::Digest digest_of(const std::string& client,
                                                            const std::string& user) const {
    return guesses->key.of(user + '\0' + client);
  }

  const PasswordFileOptions options;
  const server::PasswordTable table;
  const std::shared_ptr<Guesses> guesses;
  server::RememberedDigests passed;  // digests of credentials that were right
  server::CheckSlots slots;
  server::CheckSlots slots_of_known;  // so that a flood of strangers keeps no known client out
};

namespace {

using State = PasswordFile::State;

enum class Outcome : std::uint8_t { right, wrong, too_many, busy };

struct Verdict {
  Outcome outcome = Outcome::wrong;
  std::int64_t wait_ns = 0;  // too_many: until the next guess is allowed
};

// Computes the hash on another thread.
Task<Verdict> check_guess(std::shared_ptr<State> state, BasicCredentials given,
                          server::Guess guess) {
  const std::int64_t wait_ns = state->guesses->limits.wait_ns(guess, base::monotonic_ns());
  if (wait_ns > 0) co_return Verdict{Outcome::too_many, wait_ns};
  const auto compute = [&table = state->table, &given] {
    return table.is_right(given.user, given.password);
  };
  const Result<Result<bool>> computed = co_await run_blocking(compute);
  // EAGAIN: too many calls wait, of this and of others. ECANCELED: nobody waits for the response.
  if (!computed) co_return Verdict{Outcome::busy};
  const Result<bool>& right = *computed;
  if (!right) throw HttpError(right.error().code == ENOMEM ? 503 : 500, right.error().message());
  if (!*right) state->guesses->limits.count_failure(guess, base::monotonic_ns());
  co_return Verdict{*right ? Outcome::right : Outcome::wrong};
}

Task<Verdict> check(std::shared_ptr<State> state, BasicCredentials given, std::string client) {
  const auto client_digest = state->digest_of(client, given.user);
  const server::Guess guess{
      .client = base::keyed_hash(client),
      .user = base::keyed_hash(given.user),
      .client_is_known = state->guesses->known_clients.knows(client_digest, base::monotonic_ns())};
  const std::int64_t wait_ns = state->guesses->limits.wait_ns(guess, base::monotonic_ns());
  if (wait_ns > 0) co_return Verdict{Outcome::too_many, wait_ns};  // without waiting for a slot

  server::CheckSlots& slots = guess.client_is_known ? state->slots_of_known : state->slots;
  const Result<server::CheckSlots::Slot> slot = co_await slots.take();
  if (!slot) co_return Verdict{Outcome::busy};
  // A browser sends many requests at once. The first of them has been checked meanwhile.
  const auto digest = state->digest_of(given);
  if (state->passed.knows(digest, base::monotonic_ns())) co_return Verdict{Outcome::right};

  const Verdict verdict = co_await check_guess(state, given, guess);
  if (verdict.outcome == Outcome::right) {
    state->passed.remember(digest, base::monotonic_ns());
    state->guesses->known_clients.remember(client_digest, base::monotonic_ns());
  }
  co_return verdict;
}

Response refuse(int status, std::int64_t wait_ns) {
  Response response(status);
  // RFC 9110, 10.2.3: seconds. Rounded up, so that the client does not come too early.
  response.add("Retry-After", std::to_string((wait_ns + ns_per_s - 1) / ns_per_s));
  return response;
}

// The values of WWW-Authenticate, one for each kind of credentials that the file has (RFC 9110,
// 11.6.1). Empty for a kind that it lacks.
struct PasswordChallenges {
  PasswordChallenges(std::string_view realm, const server::PasswordTable& table) {
    std::string for_passwords = http::basic_challenge(realm);  // throws, whatever the file has
    if (table.has_passwords()) basic = std::move(for_passwords);
    if (!table.tokens().empty()) bearer = http::bearer_challenge(realm);
  }

  std::string basic;
  std::string bearer;
};

// `why` follows the challenge for tokens.
Response unauthorized(const PasswordChallenges& challenges, std::string_view why = {}) {
  Response response(401);
  // In lines of their own, since some clients read one challenge per line.
  if (!challenges.basic.empty()) response.add("WWW-Authenticate", challenges.basic);
  if (!challenges.bearer.empty()) {
    response.add("WWW-Authenticate", challenges.bearer + std::string(why));
  }
  return response;
}

Response refuse(const Verdict& verdict, const PasswordChallenges& challenges) {
  switch (verdict.outcome) {
    case Outcome::too_many:
      return refuse(429, verdict.wait_ns);
    case Outcome::busy:
      return refuse(503, ns_per_s);
    case Outcome::wrong:
    case Outcome::right:
      break;
  }
  return unauthorized(challenges);
}

Task<Response> authenticate(Request& request, Next next, std::shared_ptr<State> state,
                            std::shared_ptr<const PasswordChallenges> challenges,
                            std::optional<BasicCredentials> given) {
  if (!given) co_return unauthorized(*challenges);
  std::string client = state->options.client(request);
  const Verdict verdict = co_await check(state, *given, std::move(client));
  if (verdict.outcome != Outcome::right) co_return refuse(verdict, *challenges);
  request.attach(AuthenticatedUser{std::move(given->user)});
  given.reset();  // the handler may run for long
  Response response = co_await next(request);
  co_return std::move(response);
}

// Returns nullopt if the token is right; its user is then attached. A guess counts for the client
// only: a random token can't be guessed by many clients either, so they must not keep others out.
std::optional<Response> check_token(State& state, Request& request, std::string_view token,
                                    const PasswordChallenges& challenges) {
  const std::string* const user = state.table.tokens().find(token);
  // A right token is never longer. The digest is made for wrong ones too, so that they take as
  // long.
  const auto digest = state.digest_of(token.substr(0, server::TokenTable::token_bytes_max));
  const bool remembered = state.passed.renew(digest, base::monotonic_ns());
  if (user == nullptr || !remembered) {
    const server::Guess guess{.client = base::keyed_hash(state.options.client(request)),
                              .client_is_known = true};
    const std::int64_t wait_ns = state.guesses->limits.wait_ns(guess, base::monotonic_ns());
    // A right one, too: a guesser must not learn that it is.
    if (wait_ns > 0) return refuse(429, wait_ns);
    if (user == nullptr) {
      state.guesses->limits.count_failure(guess, base::monotonic_ns());
      return unauthorized(challenges, http::invalid_token);
    }
    state.passed.remember(digest, base::monotonic_ns());
  }
  request.attach(AuthenticatedUser{*user});
  return std::nullopt;
}

// Makes a task of a response that is there.
Task<Response> respond(Response response) { co_return std::move(response); }

}  // namespace

PasswordFile::PasswordFile(const std::string& path, PasswordFileOptions options)
    : state_(std::make_shared<State>(path, std::move(options))) {}

Middleware basic_authentication(const std::string& realm, const PasswordFile& file) {
  return [state = file.state_,
          challenges = std::make_shared<const PasswordChallenges>(realm, file.state_->table)](
             Request& request, Next next) -> Task<Response> {
    if (!challenges->bearer.empty()) {
      if (const std::optional<std::string_view> token = bearer_token(request)) {
        std::optional<Response> refused = check_token(*state, request, *token, *challenges);
        return refused ? respond(*std::move(refused)) : next(request);
      }
    }
    std::optional<BasicCredentials> given;
    if (!challenges->basic.empty()) given = basic_credentials(request);
    if (given && state->passed.renew(state->digest_of(*given), base::monotonic_ns())) {
      request.attach(AuthenticatedUser{std::move(given->user)});
      return next(request);  // without a coroutine of its own
    }
    return authenticate(request, next, state, challenges, std::move(given));
  };
}

}  // namespace h2server
