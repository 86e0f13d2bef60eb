// The way to a certificate: order, authorizations, challenges, finalization, download (RFC 8555,
// 7.4 and 7.5). Blocks its thread until the order is done.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/acme/acme_session.h"

namespace h2server::app {

// What an order asks of its surroundings.
struct AcmeOrderHooks {
  // Answers the challenge of `host` from now on, until withdraw().
  std::function<void(const std::string& host, const std::string& token,
                     const std::string& key_authorization)>
      provide;
  std::function<void(const std::string& host, const std::string& token)> withdraw;
  // Returns when all that was provided is answered, whichever server the authority reaches. The
  // error says why it is not.
  std::function<Result<void, std::string>()> settle;
  // Waits. Returns false if the order must be left.
  std::function<bool(std::chrono::milliseconds time)> wait;
};

struct AcmeOrderRequest {
  std::vector<std::string> hosts;      // at least one
  std::string challenge;               // "tls-alpn-01" or "http-01"
  std::string csr;                     // DER
  std::string replaces = {};           // the renewal_name() of the certificate before, or empty
  std::chrono::seconds time_max{300};  // of the whole order; its last request may end later
};

// Returns the chain in PEM, unchecked.
Result<std::string, AcmeFailure> order_certificate(AcmeSession& session,
                                                   const AcmeOrderRequest& request,
                                                   const AcmeOrderHooks& hooks);

}  // namespace h2server::app
