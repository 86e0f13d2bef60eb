#include "app/acme/acme_session.h"

#include <fmt/format.h>

#include <utility>

#include "app/acme/acme_jose.h"
#include "base/assert.h"
#include "base/log.h"
#include "h2server/json.h"

namespace h2server::app {

namespace {

// RFC 8555, 6.5: a request whose nonce is refused is sent again with a new one. Pebble refuses one
// of twenty in its default, and any part of them in tests.
constexpr unsigned nonce_tries = 12;
constexpr std::size_t nonces_max = 4;

AcmeFailure failure_of(const AcmeResponse& response) {
  AcmeProblem problem = parse_problem(response.body, response.status);
  std::string reason = problem.type.empty() ? std::move(problem.detail)
                                            : fmt::format("{} ({})", problem.detail, problem.type);
  return {.reason = std::move(reason),
          .type = std::move(problem.type),
          .retry_after = response.retry_after};
}

net::SigningKey key_of(const std::string& pem) {
  std::optional<net::SigningKey> key = net::SigningKey::from_pem(pem);
  ASSERT(key.has_value());
  return *std::move(key);
}

}  // namespace

AcmeFailure takes_too_long(std::optional<std::chrono::seconds> retry_after) {
  return {.reason = "the authority takes too long", .retry_after = retry_after};
}

AcmeSession::AcmeSession(Options options, const AcmeTransport& transport)
    : options_(std::move(options)), key_(key_of(options_.key_pem)), transport_(transport) {}

void AcmeSession::forget() noexcept {
  directory_.reset();
  account_url_.reset();
  nonces_.clear();
}

std::string AcmeSession::key_authorization(std::string_view token) const {
  return std::string(token) + '.' + thumbprint_of(public_jwk(key_));
}

// Fails for a response that is an error. Keeps its nonce in any case.
AcmeSession::Answer<AcmeResponse> AcmeSession::exchange(const AcmeRequest& request) {
  if (!request.url.starts_with("https://")) {  // RFC 8555, 6.1
    return std::unexpected(AcmeFailure{"the authority names a URL that is not https"});
  }
  // Every loop of an order, and that of refused nonces, comes here: none can be endless.
  if (now() >= end_) return std::unexpected(takes_too_long());
  Result<AcmeResponse, std::string> response = transport_(request);
  if (!response) return std::unexpected(AcmeFailure{printable(std::move(response.error()))});
  if (is_base64url(response->nonce) && nonces_.size() < nonces_max) {
    nonces_.push_back(response->nonce);
  }
  if (response->status < 200 || response->status > 299) {
    return std::unexpected(failure_of(*response));
  }
  return *std::move(response);
}

AcmeSession::Answer<void> AcmeSession::take_nonce(std::string& nonce) {
  if (nonces_.empty()) {
    const auto answer =
        exchange({.method = AcmeRequest::Method::head, .url = directory_->new_nonce});
    if (!answer) return std::unexpected(answer.error());
    if (nonces_.empty()) return std::unexpected(AcmeFailure{"the authority gives no nonce"});
  }
  nonce = std::move(nonces_.back());
  nonces_.pop_back();
  return {};
}

AcmeSession::Answer<AcmeResponse> AcmeSession::send_signed(const std::string& url,
                                                           std::string_view payload,
                                                           const std::string& accept) {
  for (unsigned tries = 1;; ++tries) {
    JwsHeader header{.url = url, .nonce = {}, .account_url = account_url_};
    const Answer<void> taken = take_nonce(header.nonce);
    if (!taken) return std::unexpected(taken.error());
    Answer<AcmeResponse> answer = exchange({.method = AcmeRequest::Method::post,
                                            .url = url,
                                            .body = sign_message(key_, header, payload),
                                            .accept = accept});
    if (answer || answer.error().type != "badNonce" || tries >= nonce_tries) return answer;
  }
}

AcmeSession::Answer<void> AcmeSession::open_directory() {
  if (directory_) return {};
  const Answer<AcmeResponse> answer = exchange({.url = options_.directory});
  if (!answer) return std::unexpected(answer.error());
  Result<AcmeDirectory, std::string> directory = parse_directory(answer->body);
  if (!directory) return std::unexpected(AcmeFailure{std::move(directory.error())});
  directory_ = *std::move(directory);
  return {};
}

std::string AcmeSession::contact_payload() const {
  return options_.email.empty() ? "[]" : '[' + json_string("mailto:" + options_.email) + ']';
}

// RFC 8555, 7.3: returns the account of the key if there is one already.
AcmeSession::Answer<void> AcmeSession::open_account() {
  if (account_url_) return {};
  const std::string payload =
      fmt::format(R"({{"termsOfServiceAgreed":true,"contact":{}}})", contact_payload());
  const Answer<AcmeResponse> answer = send_signed(directory_->new_account, payload, {});
  if (!answer) return std::unexpected(answer.error());
  if (answer->location.empty()) {
    return std::unexpected(AcmeFailure{"the authority gives the account no URL"});
  }
  account_url_ = answer->location;
  if (answer->status == 201) {
    base::log_info("acme: registered at {}{}", options_.directory,
                   directory_->terms_of_service.empty()
                       ? ""
                       : ", whose terms are at " + directory_->terms_of_service);
    return {};
  }
  return update_contacts(*answer);
}

// RFC 8555, 7.3.2.
AcmeSession::Answer<void> AcmeSession::update_contacts(const AcmeResponse& response) {
  const Result<AcmeAccount, std::string> account = parse_account(response.body);
  if (!account) return {};
  std::vector<std::string> wanted;
  if (!options_.email.empty()) wanted.push_back("mailto:" + options_.email);
  if (account->contacts == wanted) return {};
  const Answer<AcmeResponse> answer =
      send_signed(*account_url_, fmt::format(R"({{"contact":{}}})", contact_payload()), {});
  // An authority that keeps no contacts shows none (Let's Encrypt), so this is no reason to fail.
  if (!answer) base::log_warning("acme: can't change the contact: {}", answer.error().reason);
  return {};
}

AcmeSession::Answer<void> AcmeSession::open() {
  const Answer<void> opened = open_directory();
  return opened ? open_account() : opened;
}

AcmeSession::Answer<AcmeResponse> AcmeSession::post(const std::string& url,
                                                    std::string_view payload,
                                                    const std::string& accept) {
  const Answer<void> opened = open();
  if (!opened) return std::unexpected(opened.error());
  return send_signed(url, payload, accept);
}

AcmeSession::Answer<AcmeResponse> AcmeSession::new_order(std::string_view payload) {
  const Answer<void> opened = open();
  if (!opened) return std::unexpected(opened.error());
  return send_signed(directory_->new_order, payload, {});
}

AcmeSession::Answer<std::optional<AcmeSession::RenewalAdvice>> AcmeSession::renewal_advice(
    const net::CertificateId& certificate) {
  const Answer<void> opened = open_directory();
  if (!opened) return std::unexpected(opened.error());
  if (directory_->renewal_info.empty()) return std::nullopt;
  const Answer<AcmeResponse> answer =
      exchange({.url = directory_->renewal_info + '/' + renewal_name(certificate)});
  if (!answer) return std::unexpected(answer.error());
  Result<RenewalWindow, std::string> window = parse_renewal_info(answer->body);
  if (!window) return std::unexpected(AcmeFailure{std::move(window.error())});
  return RenewalAdvice{.window = *std::move(window), .retry_after = answer->retry_after};
}

}  // namespace h2server::app
