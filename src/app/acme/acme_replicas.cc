#include "app/acme/acme_replicas.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/acme/acme_jose.h"
#include "file/whole_file.h"
#include "net/certs/tls_issue.h"
#include "net/certs/tls_request.h"

namespace h2server::app {

namespace {

using content::SmallObject;
using ErrorKind = StoreError::Kind;

constexpr std::size_t object_bytes_max = 1024 * 1024;
constexpr std::chrono::seconds turn{60};
// A server that is killed in its turn leaves its challenges in the store. They are answered for so
// long.
constexpr std::chrono::minutes challenge_max{10};

std::string failure(const std::string& key, const StoreError& error) {
  std::string_view reason = error.reason;
  if (reason.empty())
    reason = error.kind == ErrorKind::late ? "no answer in time" : "it is refused";
  return fmt::format("acme-store: {}: {}", key, reason);
}

struct Pair {
  std::string key;
  std::string chain;
};

Pair split_pair(const std::string& pem) {
  const std::size_t end = std::min(pem.find("-----BEGIN CERTIFICATE-----"), pem.size());
  return {.key = pem.substr(0, end), .chain = pem.substr(end)};
}

// Returns nothing if a file can't be read.
Pair read_pair(const AcmeFiles& files) {
  Result<std::string, int> key = file::read_whole_file(files.key, object_bytes_max);
  Result<std::string, int> chain = file::read_whole_file(files.certificate, object_bytes_max);
  if (!key || !chain) return {};
  return {.key = *std::move(key), .chain = *std::move(chain)};
}

// RFC 8555, 8.1: the token, a dot and the thumbprint of the account's key.
bool is_authorization(std::string_view text, std::string_view token) {
  return text.starts_with(token) && text.substr(token.size()).starts_with('.') &&
         is_base64url(text.substr(token.size() + 1));
}

// Takes the text up to the separator, and that with it.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

}  // namespace

AcmeReplicas::AcmeReplicas(AcmeSharing sharing, TaskRunner runner)
    : sharing_(std::move(sharing)),
      runner_(std::move(runner)),
      lease_(std::make_unique<content::StoreLease>(*sharing_.store, sharing_.prefix + "lease",
                                                   turn)) {}

Result<AcmeReplicas, std::string> AcmeReplicas::open(AcmeSharing sharing) {
  Result<TaskRunner, std::string> runner = TaskRunner::open();
  if (!runner) return std::unexpected(std::move(runner.error()));
  return AcmeReplicas(std::move(sharing), *std::move(runner));
}

// Returns nullopt if there is no such object.
Result<std::optional<SmallObject>, std::string> AcmeReplicas::read(const std::string& key) {
  StoreResult<SmallObject> object =
      runner_.run(content::read_small_object(*sharing_.store, key, object_bytes_max));
  if (object) return *std::move(object);
  if (object.error().kind == ErrorKind::absent) return std::nullopt;
  return std::unexpected(failure(key, object.error()));
}

Result<void, std::string> AcmeReplicas::write(const std::string& key, std::string bytes,
                                              PutOptions options) {
  const StoreResult<ObjectInfo> written =
      runner_.run(sharing_.store->put(key, std::move(bytes), std::move(options)));
  // Of a conditional one: another server was first, and its object counts.
  if (written || written.error().kind == ErrorKind::precondition) return {};
  return std::unexpected(failure(key, written.error()));
}

Result<std::string, std::string> AcmeReplicas::share_account_key(const std::string& own) {
  const std::string key = sharing_.prefix + "account.key";
  const Result<void, std::string> written = write(key, own, {.must_be_new = true});
  if (!written) return std::unexpected(written.error());
  Result<std::optional<SmallObject>, std::string> object = read(key);
  if (!object) return std::unexpected(std::move(object.error()));
  if (!*object || !net::SigningKey::from_pem((*object)->bytes)) {
    return std::unexpected(fmt::format(
        "{} of acme-store is not a key of an account; remove it to register a new account", key));
  }
  return std::move((*object)->bytes);
}

Result<bool, std::string> AcmeReplicas::exchange(const AcmeSite& site, std::int64_t now_s) {
  const std::string key = sharing_.prefix + site.hosts.front() + ".pem";
  const Result<std::optional<SmallObject>, std::string> object = read(key);
  if (!object) return std::unexpected(object.error());
  const Pair theirs = *object ? split_pair((*object)->bytes) : Pair();
  const Pair mine = find_issued(site.files, site.hosts) ? read_pair(site.files) : Pair();
  if (net::is_newer(theirs.chain, mine.chain)) {
    const std::optional<net::SigningKey> signing = net::SigningKey::from_pem(theirs.key);
    if (!signing || !net::check_issued(theirs.chain, *signing, site.hosts, now_s)) return false;
    const Result<void, std::string> kept = keep_issued(site.files, theirs.chain, theirs.key);
    if (!kept) return std::unexpected(kept.error());
    return true;
  }
  if (!net::is_newer(mine.chain, theirs.chain)) return false;
  PutOptions options;
  options.must_be_new = !*object;
  if (*object) options.if_match = (*object)->info.etag;
  const Result<void, std::string> given = write(key, mine.key + mine.chain, std::move(options));
  if (!given) return std::unexpected(given.error());
  return false;
}

Result<std::string, std::string> AcmeReplicas::read_backoff(const AcmeSite& site) {
  Result<std::optional<SmallObject>, std::string> object = read(backoff_key(site));
  if (!object) return std::unexpected(std::move(object.error()));
  return *object ? std::move((*object)->bytes) : std::string();
}

Result<void, std::string> AcmeReplicas::keep_backoff(const AcmeSite& site,
                                                     const std::string& text) {
  const std::string key = backoff_key(site);
  if (!text.empty()) return write(key, text, {});
  const StoreResult<void> removed = runner_.run(sharing_.store->remove(key));
  if (removed || removed.error().kind == ErrorKind::absent) return {};
  return std::unexpected(failure(key, removed.error()));
}

std::string AcmeReplicas::backoff_key(const AcmeSite& site) const {
  return sharing_.prefix + site.hosts.front() + ".failures";
}

Result<bool, std::string> AcmeReplicas::begin_turn() {
  const StoreResult<void> taken = runner_.run(lease_->take());
  if (taken) return true;
  if (taken.error().kind == ErrorKind::precondition) return false;
  return std::unexpected(failure("the lease", taken.error()));
}

// A lease that another server has taken meanwhile is no failure: both orders are good, and the
// newer certificate stays.
void AcmeReplicas::keep_turn() { static_cast<void>(runner_.run(lease_->keep())); }

void AcmeReplicas::end_turn() {
  const auto end = [](Store& store, std::string key, bool published,
                      content::StoreLease& lease) -> Task<StoreResult<void>> {
    StoreResult<void> removed;
    if (published) removed = co_await store.remove(std::move(key));
    co_await lease.give_back();
    co_return removed;
  };
  // What stays is removed at the end of the next turn; nobody answers it for long.
  static_cast<void>(runner_.run(end(*sharing_.store, sharing_.prefix + "challenges",
                                    std::exchange(published_, false), *lease_)));
  own_.clear();
}

void AcmeReplicas::provide(const std::string& host, const std::string& token,
                           const std::string& key_authorization) {
  own_.push_back({host, token, key_authorization});
}

Result<void, std::string> AcmeReplicas::publish() {
  std::string text;
  for (const Challenge& one : own_) {
    text += fmt::format("{} {} {}\n", one.host, one.token, one.key_authorization);
  }
  published_ = true;
  return write(sharing_.prefix + "challenges", std::move(text), {});
}

// Leaves out what this server would never have written.
std::vector<AcmeReplicas::Challenge> AcmeReplicas::parse_challenges(std::string_view text) {
  std::vector<Challenge> all;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    const std::string host(take_until(line, ' '));
    const std::string_view token = take_until(line, ' ');
    if (!net::is_dns_name(host) || !is_base64url(token) || !is_authorization(line, token)) continue;
    all.push_back({host, std::string(token), std::string(line)});
  }
  return all;
}

Result<void, std::string> AcmeReplicas::look(AcmeChallenges& challenges, Kind kind) {
  const Result<std::optional<SmallObject>, std::string> object =
      read(sharing_.prefix + "challenges");
  if (!object) return std::unexpected(object.error());
  const std::string text = *object ? (*object)->bytes : std::string();
  const Clock::time_point now = Clock::now();
  if (text != seen_) {
    seen_ = text;
    seen_since_ = now;
    answer(challenges, kind, parse_challenges(text));
  } else if (!answered_.empty() && now - seen_since_ > challenge_max) {
    answer(challenges, kind, {});
  }
  return {};
}

void AcmeReplicas::answer(AcmeChallenges& challenges, Kind kind, std::vector<Challenge> wanted) {
  for (const Challenge& one : answered_) {
    if (std::ranges::find(wanted, one) != wanted.end()) continue;
    challenges.withdraw(kind, one.host, one.token);
  }
  for (const Challenge& one : wanted) {
    challenges.provide(kind, one.host, one.token, one.key_authorization);
  }
  answered_ = std::move(wanted);
}

}  // namespace h2server::app
