#include "app/client/identity_credentials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "app/system/start_thread.h"
#include "base/clock.h"
#include "base/log.h"

namespace h2server::app {

using content::s3::AssumedRole;
using content::s3::CredentialsRef;
using std::chrono::seconds;

Result<CredentialsRef, std::string> IdentityCredentials::current() {
  std::unique_lock lock(mutex_);
  Result<void, std::string> started = start();
  if (!started) return std::unexpected(std::move(started.error()));
  changed_.wait_for(lock, options_.first_wait_max, [this] { return tried_ || stopping_; });
  if (credentials_ != nullptr && Clock::now() < valid_until_) return credentials_;
  return std::unexpected(fmt::format("no credentials for the web identity: {}", problem_));
}

Result<void, std::string> IdentityCredentials::start() {
  if (running_ || stopping_) return {};
  Result<std::thread, std::string> thread = start_thread([this] { run(); });
  if (!thread) return std::unexpected(std::move(thread.error()));
  thread_ = *std::move(thread);
  running_ = true;
  return {};
}

void IdentityCredentials::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  client_.give_up();
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void IdentityCredentials::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    Result<AssumedRole, std::string> role = ask();
    lock.lock();
    if (stopping_) return;
    tried_ = true;
    const Clock::time_point next =
        role ? keep(*std::move(role)) : note_failure(std::move(role.error()));
    changed_.notify_all();
    changed_.wait_until(lock, next, [this] { return stopping_; });
  }
}

Result<AssumedRole, std::string> IdentityCredentials::ask() {
  const content::s3::WebIdentity& identity = options_.identity;
  const auto of_file = [&identity](const std::string& problem) {
    return std::unexpected(fmt::format("{}: {}", identity.token_file, problem));
  };
  const Result<std::string, std::string> text = content::s3::read_text_file(identity.token_file);
  if (!text) return of_file(text.error());
  const Result<std::string, std::string> token = content::s3::web_identity_token(*text);
  if (!token) return of_file(token.error());
  const HttpRequest request{.url = options_.sts_url,
                            .fields = {"Content-Type: application/x-www-form-urlencoded"},
                            .body = content::s3::assume_role_form(identity, *token),
                            .ca_file = options_.ca_file};
  const Result<HttpResponse, std::string> response = client_.fetch(request);
  if (!response) return std::unexpected(response.error());
  if (response->status == 200) return content::s3::assumed_role(response->body);
  return std::unexpected(
      content::s3::assume_role_refusal(response->status, response->body, *token));
}

IdentityCredentials::Clock::time_point IdentityCredentials::keep(AssumedRole role) {
  const seconds left(role.expires_s - base::unix_seconds());
  if (left <= seconds(0)) {
    return note_failure(
        "the credentials have expired already; is the clock of this machine right?");
  }
  credentials_ = std::make_shared<const content::s3::Credentials>(std::move(role.credentials));
  valid_until_ = Clock::now() + left;
  again_ = seconds(0);
  problem_ = "they have expired";
  const auto used = std::chrono::duration_cast<Clock::duration>(left * options_.renew_at);
  return Clock::now() + std::max<Clock::duration>(used, options_.again_min);
}

IdentityCredentials::Clock::time_point IdentityCredentials::note_failure(std::string problem) {
  const bool valid = credentials_ != nullptr && Clock::now() < valid_until_;
  base::log_warning("the store: can't get credentials for the web identity{}: {}",
                    valid ? "; the earlier ones are still valid" : "", problem);
  problem_ = std::move(problem);
  again_ = std::clamp(again_ * 2, options_.again_min, options_.again_max);
  return Clock::now() + again_;
}

}  // namespace h2server::app
