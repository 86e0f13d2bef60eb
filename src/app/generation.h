// Generation: what one reading of the configuration made: a server with its sites, and what belongs
// to it. A reload makes another one, and the one before it ends with its last request.
//
// The main thread's, but for report() and wait().
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/acme/acme.h"
#include "app/acme/acme_challenges.h"
#include "app/admin/admin.h"
#include "app/admin/traces.h"
#include "app/certificates/certificate_watch.h"
#include "app/certificates/credentials.h"
#include "app/client/stores.h"
#include "app/console.h"
#include "app/options/options.h"
#include "app/uploads/upload_hooks.h"
#include "app/uploads/upload_tokens.h"
#include "config/configuration.h"
#include "h2server/result.h"
#include "h2server/server.h"

namespace h2server::app {

class Generation {
 public:
  // What outlives it.
  struct Surroundings {
    const Server* before = nullptr;  // whose TLS sessions go on; null: this is the first one
    Console* console = nullptr;      // may be null
    AcmeChallenges& acme_challenges;
    std::vector<ShownToken> run_tokens = {};  // that earlier ones have shown
  };

  // `listeners` are those of the configuration, and of the admin address if there is one.
  Generation(config::Configuration configuration, Credentials credentials,
             std::vector<ListenerOptions> listeners, Surroundings surroundings);
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;
  ~Generation();

  // Adds the sites and serves. If it fails, what runs ends: wait() for that, since clients may have
  // come.
  Result<void, Stop> start();
  // Gets and renews certificates by ACME, until end_acme(), retire() or stop(). For the one
  // generation that new connections come to.
  void begin_acme();
  void end_acme() noexcept { acme_.reset(); }
  // See Admin.
  void announce_end() noexcept {
    if (admin_) admin_->announce_end();
  }
  // See Server. What belongs to the server ends with it, in wait().
  void retire() noexcept;
  void stop() noexcept;
  // Returns false if something was left behind: this object must then never be destroyed.
  [[nodiscard]] bool wait();
  [[nodiscard]] bool failed() noexcept { return server_.failed(); }

  [[nodiscard]] const config::Configuration& configuration() const noexcept {
    return configuration_;
  }
  [[nodiscard]] const Credentials& credentials() const noexcept { return credentials_; }
  [[nodiscard]] Server& server() noexcept { return server_; }
  [[nodiscard]] std::string admin_url() const { return admin_ ? admin_->url() : std::string(); }
  // Those of the run, and those that nobody knows yet. Once started.
  [[nodiscard]] const std::vector<ShownToken>& tokens() const noexcept { return tokens_; }

 private:
  Result<void, std::string> prepare(std::vector<std::string>& digests);
  Result<void, std::string> start_others();
  void watch_certificates();

  const config::Configuration configuration_;
  const Credentials credentials_;
  const Surroundings surroundings_;
  std::vector<ShownToken> tokens_;
  std::optional<Traces> traces_;
  UploadHooks hooks_;
  Stores stores_;
  Server server_;
  std::optional<Admin> admin_;
  std::optional<Acme> acme_;
  std::optional<CertificateWatch> certificates_;
};

}  // namespace h2server::app
