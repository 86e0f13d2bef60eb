// What an ACME server says, as values (RFC 8555, 7.1; RFC 9773, 4.2). Values of another type than
// the RFCs give count as missing. Texts that may get into a log are printable(); others are as they
// came.
//
// Values and pure functions, any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/result.h"

namespace h2server::app {

struct AcmeDirectory {
  std::string new_nonce;
  std::string new_account;
  std::string new_order;
  std::string renewal_info;      // empty: the server has none
  std::string terms_of_service;  // for people to read; printable; may be empty
};

enum class AcmeStatus : std::uint8_t {
  pending,
  ready,
  processing,
  valid,
  invalid,
  over,  // deactivated, expired, revoked
  unknown,
};

// RFC 8555, 6.7; RFC 9457.
struct AcmeProblem {
  std::string type;    // without "urn:ietf:params:acme:error:"; printable
  std::string detail;  // with those of subproblems; printable
};

struct AcmeOrder {
  AcmeStatus status = AcmeStatus::unknown;
  std::vector<std::string> authorizations;  // URLs
  std::string finalize;
  std::string certificate;
  std::optional<AcmeProblem> error;
};

struct AcmeChallenge {
  std::string type;  // "http-01"
  std::string url;
  std::string token;
  AcmeStatus status = AcmeStatus::unknown;
  std::optional<AcmeProblem> error;
};

struct AcmeAuthorization {
  AcmeStatus status = AcmeStatus::unknown;
  std::string host;  // printable
  std::vector<AcmeChallenge> challenges;
};

struct AcmeAccount {
  AcmeStatus status = AcmeStatus::unknown;
  std::vector<std::string> contacts;  // "mailto:…"
};

// When the server would like a certificate to be renewed, in seconds since 1970.
struct RenewalWindow {
  std::int64_t start_s = 0;
  std::int64_t end_s = 0;            // not before the start
  std::string explanation_url = {};  // printable

  bool operator==(const RenewalWindow&) const = default;
};

// Returns the text as a part of a line of a log: without control characters, which could begin
// another line, and not too long.
std::string printable(std::string text);

// The error says what is missing.
Result<AcmeDirectory, std::string> parse_directory(std::string_view json);
Result<AcmeOrder, std::string> parse_order(std::string_view json);
Result<AcmeAuthorization, std::string> parse_authorization(std::string_view json);
Result<AcmeAccount, std::string> parse_account(std::string_view json);
Result<RenewalWindow, std::string> parse_renewal_info(std::string_view json);

// Always returns something to show: a body that is no problem document gives one without a type.
AcmeProblem parse_problem(std::string_view body, int status);

// Reads "2026-01-02T03:04:05.678+01:00" (RFC 3339, 5.6). Returns seconds since 1970.
std::optional<std::int64_t> parse_timestamp(std::string_view text);

}  // namespace h2server::app
