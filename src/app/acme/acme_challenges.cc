#include "app/acme/acme_challenges.h"

#include "net/certs/tls_request.h"

namespace h2server::app {

std::optional<std::string> AcmeChallenges::answer(std::string_view token) const {
  const std::lock_guard lock(mutex_);
  const auto found = answers_.find(token);
  return found != answers_.end() ? std::optional(found->second) : std::nullopt;
}

void AcmeChallenges::provide(Kind kind, const std::string& host, const std::string& token,
                             const std::string& key_authorization) {
  if (kind == Kind::tls_alpn) {
    tls_->set(host, net::make_challenge(host, net::sha256(key_authorization)));
    return;
  }
  const std::lock_guard lock(mutex_);
  answers_.insert_or_assign(token, key_authorization);
}

void AcmeChallenges::withdraw(Kind kind, const std::string& host, const std::string& token) {
  if (kind == Kind::tls_alpn) {
    tls_->remove(host);
    return;
  }
  const std::lock_guard lock(mutex_);
  answers_.erase(token);
}

}  // namespace h2server::app
