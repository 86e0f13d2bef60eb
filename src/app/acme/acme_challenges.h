// AcmeChallenges: the answers to an authority that checks whether a host is ours: responses to
// http-01 (RFC 8555, 8.3), and certificates for tls-alpn-01 (RFC 8737), which TlsContext serves.
//
// Thread-safe. One for the program: every generation of the server answers from it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "net/certs/tls_challenges.h"

namespace h2server::app {

class AcmeChallenges {
 public:
  enum class Kind : std::uint8_t { tls_alpn, http };

  AcmeChallenges() : tls_(std::make_shared<net::TlsChallenges>()) {}

  // Returns the body for /.well-known/acme-challenge/TOKEN, of the type application/octet-stream,
  // or nullopt: 404.
  [[nodiscard]] std::optional<std::string> answer(std::string_view token) const;

  [[nodiscard]] const std::shared_ptr<net::TlsChallenges>& tls() const noexcept { return tls_; }

  void provide(Kind kind, const std::string& host, const std::string& token,
               const std::string& key_authorization);
  void withdraw(Kind kind, const std::string& host, const std::string& token);

 private:
  const std::shared_ptr<net::TlsChallenges> tls_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> answers_;  // by token
};

}  // namespace h2server::app
