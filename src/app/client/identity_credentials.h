// IdentityCredentials: temporary credentials for a web identity, which a thread asks an STS for,
// and renews before they expire. The file with the token is read each time, as its owner renews it,
// too.
//
// Credentials stay in use while they are valid, also if they can't be renewed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "app/client/http_client.h"
#include "content/s3/credentials.h"
#include "content/s3/web_identity.h"
#include "h2server/result.h"

namespace h2server::app {

struct IdentityOptions {
  content::s3::WebIdentity identity;
  std::string sts_url;
  std::string ca_file = {};            // PEM, whom to trust; empty: whom the system trusts
  std::chrono::seconds again_min{1};   // after a failure; twice as much after the next one
  std::chrono::seconds again_max{60};  // and between successes at least `again_min`
  std::chrono::seconds first_wait_max{6};
  double renew_at = 0.75;  // after that part of their time
};

class IdentityCredentials {
 public:
  explicit IdentityCredentials(IdentityOptions options) : options_(std::move(options)) {}
  IdentityCredentials(const IdentityCredentials&) = delete;
  IdentityCredentials& operator=(const IdentityCredentials&) = delete;
  ~IdentityCredentials() { stop(); }

  // Any thread but a worker's. The first call starts the thread and waits for its first attempt;
  // later ones don't wait. The error says why there are none that are valid.
  Result<content::s3::CredentialsRef, std::string> current();
  // Ends the thread, and waits of current(). By one thread.
  void stop() noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  Result<void, std::string> start();  // with the lock held
  void run();
  // On the thread, without the lock.
  Result<content::s3::AssumedRole, std::string> ask();
  // With the lock held. Returns when to ask again.
  Clock::time_point keep(content::s3::AssumedRole role);
  Clock::time_point note_failure(std::string problem);

  const IdentityOptions options_;
  HttpClient client_;  // the thread's
  std::mutex mutex_;   // for all below
  std::condition_variable changed_;
  content::s3::CredentialsRef credentials_;  // null: none yet
  Clock::time_point valid_until_;
  std::string problem_ = "there was no answer in time";
  std::chrono::seconds again_{0};  // before the next attempt after a failure
  bool tried_ = false;
  bool running_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace h2server::app
