// AcmeAuthority: an ACME server in memory, as a transport. It answers as a test prescribes, keeps
// what it was sent, and issues certificates by a CA of its own.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/acme/acme_session.h"
#include "base/text/base64.h"
#include "net/certs/tls_issue.h"

namespace h2server::tests {

// Returns an empty string for what is not base64url.
inline std::string decode_base64url(std::string text) {
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  while (text.size() % 4 != 0) text += '=';
  return base::decode_base64(text).value_or("");
}

class AcmeAuthority {
 public:
  using Json = nlohmann::json;

  struct Received {
    std::string what;  // "POST /order"
    Json header = {};  // of a signed message
    std::string payload = {};
  };

  // What it does. Changed by a test before or between requests.
  struct Behaviour {
    unsigned bad_nonces = 0;     // so many signed requests are refused first
    unsigned pending_polls = 1;  // of an authorization, before it is valid
    unsigned processing_polls = 1;
    bool authorized = false;  // it knows all hosts already
    bool challenge_fails = false;
    std::vector<std::string> challenges{"http-01", "dns-01", "tls-alpn-01"};
    std::string token = "token-1";
    std::optional<std::pair<int, std::string>> order_error = {};  // for each new order
    std::string refuses_replaces = {};                            // the type of the problem
    std::string window = {};                                      // "suggestedWindow"; empty: none
    std::optional<std::chrono::seconds> retry_after = {};         // of authorizations and orders
    long valid_days = 90;
    std::string other_host = {};  // issues for this one instead
    bool external_account = false;
    // Of a hostile one:
    std::string finalized = {};        // the status after each finalization; then it is ready again
    bool certificate_url = true;       // of a valid order
    std::string identifier = {};       // of authorizations, instead of the host's
    std::string nonce = {};            // the same for all
    unsigned more_authorizations = 0;  // of each order
    std::optional<std::string> chain = {};  // for all, or
    std::string chain_end = {};             // behind the certificate of the order
  };

  AcmeAuthority() : ca_key_(net::make_key()) {
    ca_ = net::issue({.name = "authority of a test",
                      .valid_days = 365,
                      .extensions = {{NID_basic_constraints, "critical,CA:TRUE"},
                                     {NID_subject_key_identifier, "hash"}}},
                     ca_key_.get(), nullptr, ca_key_.get());
  }

  app::AcmeTransport transport() {
    return [this](const app::AcmeRequest& request) { return answer(request); };
  }

  // Any thread.
  Behaviour behaviour() {
    const std::lock_guard lock(mutex_);
    return behaviour_;
  }
  void set(Behaviour behaviour) {
    const std::lock_guard lock(mutex_);
    behaviour_ = std::move(behaviour);
  }
  std::vector<Received> received() {
    const std::lock_guard lock(mutex_);
    return received_;
  }
  // "HEAD /nonce, POST /account, …"
  std::string conversation() {
    std::string text;
    for (const Received& one : received()) text += (text.empty() ? "" : ", ") + one.what;
    return text;
  }
  unsigned count(std::string_view what) {
    const auto all = received();
    return static_cast<unsigned>(std::ranges::count(all, what, &Received::what));
  }

 private:
  using Answer = Result<app::AcmeResponse, std::string>;
  static constexpr std::string_view base_url = "https://ca.test";

  Answer answer(const app::AcmeRequest& request) {
    const std::lock_guard lock(mutex_);
    if (!request.url.starts_with(base_url)) return std::unexpected("wrong host");
    const std::string path = request.url.substr(base_url.size());
    switch (request.method) {
      case app::AcmeRequest::Method::get:
        received_.push_back({.what = "GET " + path});
        return path == "/directory" ? directory() : renewal_info();
      case app::AcmeRequest::Method::head:
        received_.push_back({.what = "HEAD " + path});
        return app::AcmeResponse{.status = 200, .nonce = new_nonce()};
      case app::AcmeRequest::Method::post:
        break;
    }
    const Json message = Json::parse(request.body);
    Received got{.what = "POST " + path,
                 .header = Json::parse(decode_base64url(message["protected"])),
                 .payload = decode_base64url(message["payload"])};
    received_.push_back(got);
    EXPECT_EQ(got.header["url"], request.url);
    app::AcmeResponse response = signed_answer(path, got);
    response.nonce = new_nonce();
    return response;
  }

  app::AcmeResponse signed_answer(const std::string& path, const Received& got) {
    const bool known = nonces_.erase(got.header["nonce"]) == 1;
    EXPECT_TRUE(known) << "a nonce was used twice";
    if (behaviour_.bad_nonces > 0) {
      --behaviour_.bad_nonces;
      return problem(400, "badNonce");
    }
    if (path == "/account") return account(got);
    EXPECT_EQ(got.header.value("kid", ""), "https://ca.test/account/1");
    if (path == "/order") return new_order(got);
    if (path.starts_with("/authorization/")) return authorization(path.substr(15));
    if (path.starts_with("/challenge/")) return {.status = 200, .body = "{}"};
    if (path == "/finalize") return finalize(got);
    if (path == "/order/1") return order(200);
    return {.status = 200, .body = chain_};
  }

  Answer directory() const {
    Json json = {{"newNonce", "https://ca.test/nonce"},
                 {"newAccount", "https://ca.test/account"},
                 {"newOrder", "https://ca.test/order"},
                 {"renewalInfo", "https://ca.test/renewal"}};
    if (behaviour_.external_account) json["meta"]["externalAccountRequired"] = true;
    return app::AcmeResponse{.status = 200, .body = json.dump()};
  }

  Answer renewal_info() const {
    if (behaviour_.window.empty()) return app::AcmeResponse{.status = 404};
    return app::AcmeResponse{.status = 200,
                             .body = R"({"suggestedWindow":)" + behaviour_.window + "}",
                             .retry_after = std::chrono::hours(6)};
  }

  app::AcmeResponse account(const Received& got) {
    EXPECT_TRUE(got.header.contains("jwk"));
    const bool made = !std::exchange(registered_, true);
    return {.status = made ? 201 : 200,
            .body = R"({"status":"valid","contact":["mailto:a@ca.test"]})",
            .location = "https://ca.test/account/1"};
  }

  app::AcmeResponse new_order(const Received& got) {
    const Json wanted = Json::parse(got.payload);
    if (behaviour_.order_error) {
      return {.status = behaviour_.order_error->first,
              .body = behaviour_.order_error->second,
              .retry_after = behaviour_.retry_after};
    }
    if (wanted.contains("replaces") && !behaviour_.refuses_replaces.empty()) {
      return problem(409, behaviour_.refuses_replaces);
    }
    hosts_.clear();
    for (const Json& identifier : wanted["identifiers"]) hosts_.push_back(identifier["value"]);
    polls_.clear();
    status_ = behaviour_.authorized ? "ready" : "pending";
    processing_ = behaviour_.processing_polls;
    app::AcmeResponse response = order(201);
    response.location = "https://ca.test/order/1";
    return response;
  }

  app::AcmeResponse order(int status) {
    if (status_ == "processing" && processing_-- == 0) status_ = "valid";
    const bool all_valid = std::ranges::all_of(hosts_, [this](const std::string& host) {
      const auto found = polls_.find(host);
      return found != polls_.end() && found->second > behaviour_.pending_polls;
    });
    if (status_ == "pending" && all_valid) status_ = "ready";
    Json json = {{"status", status_}, {"finalize", "https://ca.test/finalize"}};
    for (const std::string& host : hosts_) {
      json["authorizations"].push_back("https://ca.test/authorization/" + host);
    }
    for (unsigned at = 0; at < behaviour_.more_authorizations; ++at) {
      json["authorizations"].push_back("https://ca.test/authorization/" + hosts_.front());
    }
    if (status_ == "valid" && behaviour_.certificate_url) {
      json["certificate"] = "https://ca.test/certificate";
    }
    return {.status = status, .body = json.dump(), .retry_after = behaviour_.retry_after};
  }

  app::AcmeResponse authorization(const std::string& host) {
    const bool valid = polls_[host]++ > behaviour_.pending_polls - 1;
    const bool failed = valid && behaviour_.challenge_fails;
    Json json = {{"status", failed  ? "invalid"
                            : valid ? "valid"
                                    : "pending"},
                 {"identifier",
                  {{"type", "dns"},
                   {"value", behaviour_.identifier.empty() ? host : behaviour_.identifier}}},
                 {"challenges", Json::array()}};
    for (const std::string& type : behaviour_.challenges) {
      Json challenge = {{"type", type},
                        {"status", failed  ? "invalid"
                                   : valid ? "valid"
                                           : "pending"},
                        {"url", "https://ca.test/challenge/" + host},
                        {"token", behaviour_.token}};
      if (failed) {
        challenge["error"] = {{"type", "urn:ietf:params:acme:error:connection"},
                              {"detail", "refused\nby it"}};
      }
      json["challenges"].push_back(std::move(challenge));
    }
    return {.status = 200, .body = json.dump(), .retry_after = behaviour_.retry_after};
  }

  app::AcmeResponse finalize(const Received& got) {
    if (!behaviour_.finalized.empty()) {
      status_ = "ready";
      const Json json = {{"status", behaviour_.finalized},
                         {"finalize", "https://ca.test/finalize"}};
      return {.status = 200, .body = json.dump()};
    }
    const std::string csr = decode_base64url(Json::parse(got.payload)["csr"]);
    chain_ = behaviour_.chain ? *behaviour_.chain : issue(csr) + behaviour_.chain_end;
    status_ = "processing";
    return order(200);
  }

  std::string issue(const std::string& csr) const {
    const auto* at = reinterpret_cast<const unsigned char*>(csr.data());
    const std::unique_ptr<X509_REQ, net::FreeBy<X509_REQ_free>> request(
        d2i_X509_REQ(nullptr, &at, static_cast<long>(csr.size())));
    EXPECT_NE(request, nullptr);
    const net::Key key(X509_REQ_get_pubkey(request.get()));
    EXPECT_EQ(X509_REQ_verify(request.get(), key.get()), 1);
    std::string names;
    for (const std::string& host : hosts_) names += (names.empty() ? "DNS:" : ",DNS:") + host;
    if (!behaviour_.other_host.empty()) names = "DNS:" + behaviour_.other_host;
    const net::Certificate issued =
        net::issue({.name = "a site",
                    .valid_days = behaviour_.valid_days,
                    .extensions = {{NID_subject_alt_name, names},
                                   {NID_authority_key_identifier, "keyid:always"}}},
                   key.get(), ca_.get(), ca_key_.get());
    return net::pem_of(issued.get()) + net::pem_of(ca_.get());
  }

  static app::AcmeResponse problem(int status, const std::string& type) {
    return {.status = status,
            .body = fmt::format(
                R"({{"type":"urn:ietf:params:acme:error:{}","detail":"as the test says"}})", type)};
  }

  std::string new_nonce() {
    if (!behaviour_.nonce.empty()) return behaviour_.nonce;
    return *nonces_.insert(fmt::format("nonce-{}", ++nonce_)).first;
  }

  std::mutex mutex_;  // guards what follows
  Behaviour behaviour_;
  std::vector<Received> received_;
  const net::Key ca_key_;
  net::Certificate ca_;
  std::set<std::string> nonces_;
  unsigned nonce_ = 0;
  bool registered_ = false;
  std::vector<std::string> hosts_;         // of the order
  std::string status_;                     // of the order
  std::map<std::string, unsigned> polls_;  // of authorizations, by host
  unsigned processing_ = 0;
  std::string chain_;
};

}  // namespace h2server::tests
