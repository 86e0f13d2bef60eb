// AcmeSession: the conversation with one ACME server by one account (RFC 8555): its directory,
// nonces, and signed requests. Registers the account before the first signed request.
//
// For one thread, which all functions block.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/acme/acme_messages.h"
#include "h2server/result.h"
#include "net/certs/tls_request.h"

namespace h2server::app {

struct AcmeRequest {
  enum class Method : std::uint8_t { get, head, post };
  Method method = Method::get;
  std::string url;
  std::string body = {};    // of a POST: a signed message
  std::string accept = {};  // a media type, or empty
};

struct AcmeResponse {
  int status = 0;
  std::string body = {};
  std::string nonce = {};     // Replay-Nonce
  std::string location = {};  // Location
  std::optional<std::chrono::seconds> retry_after = {};
};

// Sends a request and waits for the response. The error says why there is none.
using AcmeTransport = std::function<Result<AcmeResponse, std::string>(const AcmeRequest&)>;

struct AcmeFailure {
  std::string reason;     // a part of a line for the operator
  std::string type = {};  // as in AcmeProblem; empty unless the server has given one
  std::optional<std::chrono::seconds> retry_after = {};
};

AcmeFailure takes_too_long(std::optional<std::chrono::seconds> retry_after = {});

class AcmeSession {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    std::string directory;   // its URL
    std::string email = {};  // of the account; may be empty
    std::string key_pem;     // of the account
    std::function<Clock::time_point()> now = Clock::now;
  };

  // The key of `options` can be read. The transport outlives the session.
  AcmeSession(Options options, const AcmeTransport& transport);

  template <class T>
  using Answer = Result<T, AcmeFailure>;

  // Sends `payload`, an object of JSON, or "" to read (RFC 8555, 6.3).
  Answer<AcmeResponse> post(const std::string& url, std::string_view payload,
                            const std::string& accept = {});

  // Returns the new order with its URL in Location.
  Answer<AcmeResponse> new_order(std::string_view payload);

  // Asks when to renew a certificate (RFC 9773, 4.1). Returns nullopt if the server does not say.
  struct RenewalAdvice {
    RenewalWindow window;
    std::optional<std::chrono::seconds> retry_after;  // when to ask again
  };
  Answer<std::optional<RenewalAdvice>> renewal_advice(const net::CertificateId& certificate);

  // What proves the account at a challenge (RFC 8555, 8.1).
  [[nodiscard]] std::string key_authorization(std::string_view token) const;

  // Lets no request begin from `end` on: it fails as takes_too_long().
  void limit(Clock::time_point end) noexcept { end_ = end; }
  [[nodiscard]] Clock::time_point now() const { return options_.now(); }

  // Reads the directory and registers anew at the next request, since a failure may mean that the
  // server has changed or forgotten them.
  void forget() noexcept;

 private:
  Answer<void> open();
  Answer<void> open_directory();
  Answer<void> open_account();
  Answer<void> update_contacts(const AcmeResponse& account);
  Answer<AcmeResponse> exchange(const AcmeRequest& request);
  Answer<AcmeResponse> send_signed(const std::string& url, std::string_view payload,
                                   const std::string& accept);
  Answer<void> take_nonce(std::string& nonce);
  [[nodiscard]] std::string contact_payload() const;

  const Options options_;
  const net::SigningKey key_;
  const AcmeTransport& transport_;
  std::optional<AcmeDirectory> directory_;
  std::optional<std::string> account_url_;
  std::vector<std::string> nonces_;  // unused
  Clock::time_point end_ = Clock::time_point::max();
};

}  // namespace h2server::app
