#include "app/acme/acme_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/client/json_members.h"
#include "base/text/text.h"

namespace h2server::app {

namespace {

using Json = nlohmann::json;

constexpr std::string_view problem_prefix = "urn:ietf:params:acme:error:";
constexpr std::size_t detail_bytes_max = 500;

// Never throws: what is no JSON is no object.
Json parse_json(std::string_view text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

const Json& list_of(const Json& object, const char* name) {
  static const Json none = Json::array();
  const Json* const value = member_of(object, name);
  return value != nullptr && value->is_array() ? *value : none;
}

std::vector<std::string> texts_of(const Json& object, const char* name) {
  std::vector<std::string> texts;
  for (const Json& element : list_of(object, name)) {
    if (element.is_string()) texts.push_back(element.get<std::string>());
  }
  return texts;
}

AcmeStatus status_of(const Json& object) {
  using enum AcmeStatus;
  const std::string text = text_of(object, "status");
  if (text == "pending") return pending;
  if (text == "ready") return ready;
  if (text == "processing") return processing;
  if (text == "valid") return valid;
  if (text == "invalid") return invalid;
  if (text == "deactivated" || text == "expired" || text == "revoked") return over;
  return unknown;
}

AcmeProblem problem_of(const Json& json) {
  std::string type = text_of(json, "type");
  if (type.starts_with(problem_prefix)) type.erase(0, problem_prefix.size());
  std::string detail = text_of(json, "detail");
  for (const Json& part : list_of(json, "subproblems")) {
    const Json* const identifier = member_of(part, "identifier");
    const std::string host = identifier != nullptr ? text_of(*identifier, "value") : "";
    detail += fmt::format("; {}: {}", host, text_of(part, "detail"));
  }
  return {.type = printable(std::move(type)), .detail = printable(std::move(detail))};
}

std::optional<AcmeProblem> error_of(const Json& json) {
  const Json* const error = member_of(json, "error");
  return error != nullptr && error->is_object() ? std::optional(problem_of(*error)) : std::nullopt;
}

// Takes `count` digits and what separates them from the next. Returns -1 if there are none.
int take_number(std::string_view& text, std::size_t count, std::string_view separator) {
  const auto number = base::parse_decimal(text.substr(0, count));
  if (!number || text.size() < count || !text.substr(count).starts_with(separator)) return -1;
  text.remove_prefix(count + separator.size());
  return static_cast<int>(*number);
}

// "Z", "+01:00". Returns seconds.
std::optional<std::int64_t> read_offset(std::string_view text) {
  if (base::equals_ignoring_case(text, "z")) return 0;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const bool west = text[0] == '-';
  text.remove_prefix(1);
  const int hours = take_number(text, 2, ":");
  const int minutes = take_number(text, 2, "");
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  const std::int64_t offset = hours * 3600 + minutes * 60;
  return west ? -offset : offset;
}

}  // namespace

std::string printable(std::string text) {
  if (text.size() > detail_bytes_max) text.resize(detail_bytes_max);
  std::ranges::replace_if(text, [](unsigned char c) { return c < 0x20 || c >= 0x7F; }, '?');
  return text;
}

Result<AcmeDirectory, std::string> parse_directory(std::string_view text) {
  const Json json = parse_json(text);
  const Json* const meta = member_of(json, "meta");
  AcmeDirectory directory{
      .new_nonce = text_of(json, "newNonce"),
      .new_account = text_of(json, "newAccount"),
      .new_order = text_of(json, "newOrder"),
      .renewal_info = text_of(json, "renewalInfo"),
      .terms_of_service = meta != nullptr ? printable(text_of(*meta, "termsOfService")) : ""};
  if (directory.new_nonce.empty() || directory.new_account.empty() || directory.new_order.empty()) {
    return std::unexpected("this is no ACME directory");
  }
  const Json* const external =
      meta != nullptr ? member_of(*meta, "externalAccountRequired") : nullptr;
  if (external != nullptr && external->is_boolean() && external->get<bool>()) {
    return std::unexpected("the authority requires an external account, which is not supported");
  }
  return directory;
}

Result<AcmeOrder, std::string> parse_order(std::string_view text) {
  const Json json = parse_json(text);
  AcmeOrder order{.status = status_of(json),
                  .authorizations = texts_of(json, "authorizations"),
                  .finalize = text_of(json, "finalize"),
                  .certificate = text_of(json, "certificate"),
                  .error = error_of(json)};
  if (order.status == AcmeStatus::unknown || order.finalize.empty()) {
    return std::unexpected("this is no order");
  }
  return order;
}

Result<AcmeAuthorization, std::string> parse_authorization(std::string_view text) {
  const Json json = parse_json(text);
  const Json* const identifier = member_of(json, "identifier");
  AcmeAuthorization authorization{
      .status = status_of(json),
      .host = identifier != nullptr ? printable(text_of(*identifier, "value")) : "",
      .challenges = {}};
  for (const Json& challenge : list_of(json, "challenges")) {
    authorization.challenges.push_back({.type = text_of(challenge, "type"),
                                        .url = text_of(challenge, "url"),
                                        .token = text_of(challenge, "token"),
                                        .status = status_of(challenge),
                                        .error = error_of(challenge)});
  }
  if (authorization.status == AcmeStatus::unknown || authorization.host.empty()) {
    return std::unexpected("this is no authorization");
  }
  return authorization;
}

Result<AcmeAccount, std::string> parse_account(std::string_view text) {
  const Json json = parse_json(text);
  const AcmeAccount account{.status = status_of(json), .contacts = texts_of(json, "contact")};
  if (account.status == AcmeStatus::unknown) return std::unexpected("this is no account");
  return account;
}

Result<RenewalWindow, std::string> parse_renewal_info(std::string_view text) {
  const Json json = parse_json(text);
  const Json* const window = member_of(json, "suggestedWindow");
  const auto start = window != nullptr ? parse_timestamp(text_of(*window, "start")) : std::nullopt;
  const auto end = window != nullptr ? parse_timestamp(text_of(*window, "end")) : std::nullopt;
  if (!start || !end || *end < *start) return std::unexpected("this is no renewal information");
  return RenewalWindow{.start_s = *start,
                       .end_s = *end,
                       .explanation_url = printable(text_of(json, "explanationURL"))};
}

AcmeProblem parse_problem(std::string_view body, int status) {
  AcmeProblem problem = problem_of(parse_json(body));
  if (problem.detail.empty()) problem.detail = fmt::format("it answers {}", status);
  return problem;
}

std::optional<std::int64_t> parse_timestamp(std::string_view text) {
  const int year = take_number(text, 4, "-");
  const int month = take_number(text, 2, "-");
  const int day = take_number(text, 2, "");
  if (text.empty() || (base::to_lower(text[0]) != 't' && text[0] != ' ')) return std::nullopt;
  text.remove_prefix(1);
  const int hour = take_number(text, 2, ":");
  const int minute = take_number(text, 2, ":");
  const int second = take_number(text, 2, "");
  if (text.starts_with('.')) {
    text.remove_prefix(std::min(text.find_first_not_of("0123456789", 1), text.size()));
  }
  const std::optional<std::int64_t> offset = read_offset(text);
  // RFC 3339, 5.7: 60 is a leap second.
  const bool in_range = year >= 0 && month >= 1 && day >= 1 && hour >= 0 && hour <= 23 &&
                        minute >= 0 && minute <= 59 && second >= 0 && second <= 60;
  if (!in_range || !offset) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * 86400 + hour * 3600 + minute * 60 + second - *offset;
}

}  // namespace h2server::app
