// Acme: gets certificates for sites from an authority by ACME (RFC 8555), and renews them when the
// authority suggests (RFC 9773) or two thirds of their validity are over.
//
// It has a thread of its own, which looks after one site at a time. A failure costs nothing but
// time: what is in use stays, and the next try comes after a growing pause, also in another process
// (acme_backoff.h): an order is noted as failed before it begins, since a server may be killed
// meanwhile, and no longer once it has succeeded. With a store to share,
// the certificate that one server gets is that of all (AcmeReplicas). The challenges must outlive
// it. External account binding (RFC 8555, 7.3.4), dns-01, and thereby names with wildcards,
// are not supported.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "app/acme/acme_challenges.h"
#include "app/acme/acme_order.h"
#include "app/acme/acme_replicas.h"
#include "app/acme/acme_session.h"
#include "app/acme/acme_store.h"
#include "base/clock.h"

namespace h2server::app {

struct AcmeOptions {
  std::string directory;  // URL
  std::string email = {};
  std::string folder;  // acme_folder(): where the account's key is
  AcmeChallenges::Kind challenge = AcmeChallenges::Kind::tls_alpn;
  std::vector<AcmeSite> sites;
  AcmeSharing sharing = {};
  // Called on the thread when the files of a site are new. Must not call stop().
  std::function<void()> changed;
  std::function<std::int64_t()> now_s = base::unix_seconds;  // since 1970
};

// How requests are sent, and how they are ended at once, by another thread and for good.
struct AcmeClient {
  AcmeTransport transport;
  std::function<void()> give_up;
};

class Acme {
 public:
  Acme(AcmeOptions options, AcmeClient client, AcmeChallenges& challenges);
  Acme(const Acme&) = delete;
  Acme& operator=(const Acme&) = delete;
  ~Acme();

  // Call it once the server listens, since the authority comes for its answers. The error, a line
  // for the operator, is that the account has no key and none can be made, or that there is no
  // thread.
  Result<void, std::string> start();
  // Ends the thread; an order in flight is given up. May be called again, but by one thread.
  void stop() noexcept;

 private:
  struct Plan {
    const AcmeSite* site = nullptr;
    std::string certificate = {};              // the name of the one that the plan is for
    std::optional<RenewalWindow> window = {};  // of the authority
    std::int64_t renewal_s = 0;
    std::int64_t due_s = 0;       // of the next step
    std::int64_t obtained_s = 0;  // when this thread got it, also by the store; 0: another run did
    unsigned failures = 0;        // in a row
  };

  void run();
  void resume_backoff(Plan& plan, std::string_view text);
  std::string backoff_text(const Plan& plan, std::int64_t now_s, std::chrono::seconds pause) const;
  void keep_failures(const Plan& plan, const std::string& text);
  void step(Plan& plan);
  void look_again(Plan& plan, const IssuedCertificate& issued);
  std::optional<std::chrono::seconds> take_advice(Plan& plan, const IssuedCertificate& issued);
  void renew(Plan& plan, const std::optional<IssuedCertificate>& issued);
  Result<void, AcmeFailure> order(Plan& plan, const std::optional<IssuedCertificate>& issued);
  void look_at_others();
  Result<bool, std::string> exchange(Plan& plan);
  Result<bool, std::string> begin_turn(Plan& plan);
  Result<bool, std::string> may_order(Plan& plan);
  Result<void, std::string> settle_account();
  void open_session(std::string key_pem);
  AcmeOrderHooks hooks();
  Result<void, std::string> settle();
  bool wait_in_turn(std::chrono::milliseconds time);
  void note(const std::string& failure);
  Result<void, AcmeFailure> obtain(const AcmeSite& site, const std::string& replaces);
  std::chrono::seconds put_off(Plan& plan, const std::optional<IssuedCertificate>& issued,
                               const AcmeFailure& failure);
  bool wait(std::chrono::milliseconds time);
  bool stopping();

  const AcmeOptions options_;
  const AcmeClient client_;
  AcmeChallenges& challenges_;
  std::optional<AcmeSession> session_;  // from start() on
  std::vector<Plan> plans_;
  std::string account_key_;               // of this server; empty once that of all is used
  std::optional<AcmeReplicas> replicas_;  // of the thread
  std::string store_failure_;             // the last one, until the store works again
  std::chrono::steady_clock::time_point exchange_due_{};  // of all pairs
  std::mutex mutex_;                                      // guards the next two
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace h2server::app
