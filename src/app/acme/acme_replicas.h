// AcmeReplicas: what servers with the same sites share in a store, so that one certificate is got
// for all of them: the account's key, the pairs of sites, and the answers to the authority's
// challenges, for which it may come to any of them. One server at a time orders: who has the turn.
//
// The objects, below the name of the authority:
//   account.key   PEM
//   SITE.pem      a key and its chain, by the first of the site's hosts
//   SITE.failures see AcmeBackoff; of orders that failed
//   challenges    "HOST TOKEN KEY-AUTHORIZATION\n" for each host that all are to answer for
//   lease         see StoreLease
//
// For one thread, which all functions block. Errors are a part of a line for the operator.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/acme/acme_challenges.h"
#include "app/acme/acme_store.h"
#include "app/system/task_runner.h"
#include "content/store/store_lease.h"
#include "content/store/store_objects.h"
#include "h2server/result.h"
#include "h2server/store.h"

namespace h2server::app {

struct AcmeSharing {
  std::shared_ptr<Store> store = {};  // null: nothing is shared
  std::string prefix = {};            // of the keys; ends in "/"
  // Ends the store's calls at once, by another thread and for good.
  std::function<void()> give_up = {};
  // How often a server looks which challenges it is to answer, and, at most, for pairs.
  std::chrono::milliseconds challenges_pause{5'000};
  std::chrono::milliseconds pairs_pause{60'000};
};

struct AcmeSite {
  std::vector<std::string> hosts;  // at least one, names of the DNS in lower case
  AcmeFiles files;
};

class AcmeReplicas {
 public:
  using Kind = AcmeChallenges::Kind;

  static Result<AcmeReplicas, std::string> open(AcmeSharing sharing);

  // Returns true if the site's files are new: the store's pair, if that is good for its hosts and
  // newer. A newer pair of this server becomes the store's.
  Result<bool, std::string> exchange(const AcmeSite& site, std::int64_t now_s);

  // What is kept of the failures of a site, empty without any. Written during the turn; an empty
  // text removes it.
  Result<std::string, std::string> read_backoff(const AcmeSite& site);
  Result<void, std::string> keep_backoff(const AcmeSite& site, const std::string& text);

  // Returns the store's account key, in PEM, which is `own` if there is none yet.
  Result<std::string, std::string> share_account_key(const std::string& own);

  // Returns false if another server has the turn.
  Result<bool, std::string> begin_turn();
  // Call it every ten seconds, at most. A turn that is lost nevertheless does no harm but an order.
  void keep_turn();
  // Takes back what was published.
  void end_turn();

  // During the turn: has all servers answer for `host`, from the next publish() on, or rather when
  // they have looked.
  void provide(const std::string& host, const std::string& token,
               const std::string& key_authorization);
  Result<void, std::string> publish();

  // Has `challenges` answer what the one with the turn has published; for the others.
  Result<void, std::string> look(AcmeChallenges& challenges, Kind kind);

 private:
  using Clock = std::chrono::steady_clock;
  struct Challenge {
    std::string host;
    std::string token;
    std::string key_authorization;
    bool operator==(const Challenge&) const = default;
  };

  AcmeReplicas(AcmeSharing sharing, TaskRunner runner);

  static std::vector<Challenge> parse_challenges(std::string_view text);
  [[nodiscard]] std::string backoff_key(const AcmeSite& site) const;
  Result<std::optional<content::SmallObject>, std::string> read(const std::string& key);
  Result<void, std::string> write(const std::string& key, std::string bytes, PutOptions options);
  void answer(AcmeChallenges& challenges, Kind kind, std::vector<Challenge> wanted);

  AcmeSharing sharing_;
  TaskRunner runner_;
  std::unique_ptr<content::StoreLease> lease_;
  std::vector<Challenge> own_;  // of the turn
  bool published_ = false;
  std::vector<Challenge> answered_;  // of the one with the turn
  std::string seen_;                 // the text that they are from
  Clock::time_point seen_since_{};
};

}  // namespace h2server::app
