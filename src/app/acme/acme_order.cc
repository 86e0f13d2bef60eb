#include "app/acme/acme_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/acme/acme_jose.h"
#include "h2server/json.h"

namespace h2server::app {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_wait{150};  // doubles, unless Retry-After says when
constexpr milliseconds order_wait_max{10'000};
// RFC 9110, 10.2.3, has no bounds: 0 would be no pause, and years are more than milliseconds count.
constexpr std::chrono::seconds retry_after_min{1};
constexpr std::chrono::seconds acme_retry_after_max = std::chrono::hours(24);

std::string reason_of(const std::optional<AcmeProblem>& problem) {
  if (!problem) return "the authority does not say why";
  return fmt::format("{} ({})", problem->detail, problem->type);
}

class Order {
 public:
  Order(AcmeSession& session, const AcmeOrderRequest& request, const AcmeOrderHooks& hooks)
      : session_(session),
        request_(request),
        hooks_(hooks),
        end_(session.now() + request.time_max) {
    session_.limit(end_);
  }
  Order(const Order&) = delete;
  Order& operator=(const Order&) = delete;
  ~Order() {
    session_.limit(AcmeSession::Clock::time_point::max());
    for (const auto& [host, token] : provided_) hooks_.withdraw(host, token);
  }

  Result<std::string, AcmeFailure> run();

 private:
  template <class T>
  using Answer = Result<T, AcmeFailure>;
  using Pause = std::optional<std::chrono::seconds>;

  Answer<AcmeOrder> begin();
  Answer<AcmeOrder> read(const Answer<AcmeResponse>& answer);
  Answer<AcmeOrder> advance(const AcmeOrder& order);
  Answer<void> authorize(const AcmeOrder& order);
  Answer<AcmeAuthorization> read_authorization(const std::string& url);
  Answer<AcmeChallenge> provide(const AcmeAuthorization& authorization);
  Answer<void> start(const std::vector<AcmeChallenge>& challenges);
  Answer<void> await(const std::string& url);
  Answer<void> pause();

  AcmeSession& session_;
  const AcmeOrderRequest& request_;
  const AcmeOrderHooks& hooks_;
  const AcmeSession::Clock::time_point end_;
  std::string url_;
  std::vector<std::pair<std::string, std::string>> provided_;  // hosts and tokens
  Pause retry_after_;                                          // of the last response
  milliseconds wait_ = first_wait;
  bool finalized_ = false;
};

// RFC 8555, 7.1.6: the states of an order.
Result<std::string, AcmeFailure> Order::run() {
  Answer<AcmeOrder> order = begin();
  while (order && order->status != AcmeStatus::valid) order = advance(*order);
  if (!order) return std::unexpected(std::move(order.error()));
  if (order->certificate.empty()) {
    return std::unexpected(AcmeFailure{"the authority gives the certificate no URL"});
  }
  Answer<AcmeResponse> chain =
      session_.post(order->certificate, "", "application/pem-certificate-chain");
  if (!chain) return std::unexpected(std::move(chain.error()));
  return std::move(chain->body);
}

Order::Answer<AcmeOrder> Order::begin() {
  std::string identifiers;
  for (const std::string& host : request_.hosts) {
    identifiers += fmt::format(R"({}{{"type":"dns","value":{}}})", identifiers.empty() ? "" : ",",
                               json_string(host));
  }
  const std::string plain = fmt::format(R"({{"identifiers":[{}]}})", identifiers);
  const std::string replacing = fmt::format(R"({{"identifiers":[{}],"replaces":{}}})", identifiers,
                                            json_string(request_.replaces));
  const bool replaces = !request_.replaces.empty();
  Answer<AcmeResponse> answer = session_.new_order(replaces ? replacing : plain);
  // RFC 9773, 5: it may have been replaced, or be unknown to the server; then this is an order like
  // others. Refusals for other reasons come again.
  const bool plainly =
      replaces && !answer && answer.error().type != "rateLimited" && !answer.error().type.empty();
  if (plainly) answer = session_.new_order(plain);
  if (answer) url_ = answer->location;
  if (answer && url_.empty()) {
    return std::unexpected(AcmeFailure{"the authority gives the order no URL"});
  }
  return read(answer);
}

Order::Answer<AcmeOrder> Order::read(const Answer<AcmeResponse>& answer) {
  if (!answer) return std::unexpected(answer.error());
  retry_after_ = answer->retry_after;
  Result<AcmeOrder, std::string> order = parse_order(answer->body);
  if (!order) return std::unexpected(AcmeFailure{std::move(order.error())});
  return *std::move(order);
}

// Does what an order that is not valid needs, and reads it again.
Order::Answer<AcmeOrder> Order::advance(const AcmeOrder& order) {
  switch (order.status) {
    case AcmeStatus::pending: {
      const Answer<void> authorized = authorize(order);
      if (!authorized) return std::unexpected(authorized.error());
      Answer<AcmeOrder> next = read(session_.post(url_, ""));
      if (!next || next->status != AcmeStatus::pending) return next;
      break;
    }
    case AcmeStatus::ready: {
      if (!std::exchange(finalized_, true)) wait_ = first_wait;
      const std::string csr = fmt::format(R"({{"csr":"{}"}})", encode_base64url(request_.csr));
      Answer<AcmeOrder> next = read(session_.post(order.finalize, csr));
      // An order that is no further, or where it began, waits before it is finalized again.
      const bool goes_on =
          next && next->status != AcmeStatus::ready && next->status != AcmeStatus::pending;
      if (!next || goes_on) return next;
      break;
    }
    case AcmeStatus::processing:
      break;
    case AcmeStatus::valid:
      return order;
    case AcmeStatus::invalid:
    case AcmeStatus::over:
    case AcmeStatus::unknown:
      return std::unexpected(AcmeFailure{"the order failed: " + reason_of(order.error)});
  }
  const Answer<void> paused = pause();
  if (!paused) return std::unexpected(paused.error());
  return read(session_.post(url_, ""));
}

// The authority looks at all hosts at the same time.
Order::Answer<void> Order::authorize(const AcmeOrder& order) {
  std::vector<std::string> open;
  std::vector<AcmeChallenge> challenges;
  for (const std::string& url : order.authorizations) {
    const Answer<AcmeAuthorization> authorization = read_authorization(url);
    if (!authorization) return std::unexpected(authorization.error());
    if (authorization->status == AcmeStatus::valid) continue;  // it knows that the host is ours
    const Answer<AcmeChallenge> challenge = provide(*authorization);
    if (!challenge) return std::unexpected(challenge.error());
    open.push_back(url);
    challenges.push_back(*challenge);
  }
  Answer<void> started = start(challenges);
  if (!started) return started;
  for (const std::string& url : open) {
    Answer<void> done = await(url);
    if (!done) return done;
  }
  return {};
}

Order::Answer<AcmeAuthorization> Order::read_authorization(const std::string& url) {
  const Answer<AcmeResponse> answer = session_.post(url, "");
  if (!answer) return std::unexpected(answer.error());
  retry_after_ = answer->retry_after;
  Result<AcmeAuthorization, std::string> authorization = parse_authorization(answer->body);
  if (!authorization) return std::unexpected(AcmeFailure{std::move(authorization.error())});
  return *std::move(authorization);
}

// Answers the challenge from now on.
Order::Answer<AcmeChallenge> Order::provide(const AcmeAuthorization& authorization) {
  const std::string& host = authorization.host;
  // A host that was not ordered must not get an answer.
  if (std::ranges::find(request_.hosts, host) == request_.hosts.end()) {
    return std::unexpected(AcmeFailure{"the authority asks for a host that was not ordered"});
  }
  const auto challenge =
      std::ranges::find(authorization.challenges, request_.challenge, &AcmeChallenge::type);
  if (challenge == authorization.challenges.end() || !is_base64url(challenge->token)) {
    return std::unexpected(
        AcmeFailure{fmt::format("the authority offers no {} for {}", request_.challenge, host)});
  }
  provided_.emplace_back(host, challenge->token);
  hooks_.provide(host, challenge->token, session_.key_authorization(challenge->token));
  return *challenge;
}

// Has the authority look.
Order::Answer<void> Order::start(const std::vector<AcmeChallenge>& challenges) {
  if (challenges.empty()) return {};
  Result<void, std::string> settled = hooks_.settle();
  if (!settled) return std::unexpected(AcmeFailure{std::move(settled.error())});
  for (const AcmeChallenge& challenge : challenges) {
    if (challenge.status != AcmeStatus::pending) continue;  // it was asked to look before
    const Answer<AcmeResponse> begun = session_.post(challenge.url, "{}");
    if (!begun) return std::unexpected(begun.error());
  }
  return {};
}

// RFC 8555, 7.1.6: the states of an authorization.
Order::Answer<void> Order::await(const std::string& url) {
  for (;;) {
    Answer<void> paused = pause();
    if (!paused) return paused;
    const Answer<AcmeAuthorization> authorization = read_authorization(url);
    if (!authorization) return std::unexpected(authorization.error());
    if (authorization->status == AcmeStatus::valid) {
      wait_ = first_wait;
      return {};
    }
    if (authorization->status == AcmeStatus::pending) continue;
    std::optional<AcmeProblem> problem;
    for (const AcmeChallenge& challenge : authorization->challenges) {
      if (challenge.error) problem = challenge.error;
    }
    return std::unexpected(AcmeFailure{fmt::format("{} for {} failed: {}", request_.challenge,
                                                   authorization->host, reason_of(problem)),
                                       problem ? problem->type : ""});
  }
}

// Waits as long as the last response asks.
Order::Answer<void> Order::pause() {
  const milliseconds time =
      retry_after_ ? std::clamp(*retry_after_, retry_after_min, acme_retry_after_max) : wait_;
  wait_ = std::min(wait_ * 2, order_wait_max);
  retry_after_.reset();
  if (session_.now() + time > end_) {
    return std::unexpected(takes_too_long(std::chrono::duration_cast<std::chrono::seconds>(time)));
  }
  if (!hooks_.wait(time)) return std::unexpected(AcmeFailure{"the server stops"});
  return {};
}

}  // namespace

Result<std::string, AcmeFailure> order_certificate(AcmeSession& session,
                                                   const AcmeOrderRequest& request,
                                                   const AcmeOrderHooks& hooks) {
  return Order(session, request, hooks).run();
}

}  // namespace h2server::app
