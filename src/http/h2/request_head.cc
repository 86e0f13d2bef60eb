#include "http/h2/request_head.h"

#include <algorithm>

#include "http/fields/syntax.h"
#include "http/fields/target.h"
#include "http/fields/trailers.h"
#include "http/h2/priority.h"
#include "http/message.h"

namespace h2server::http::h2 {

using hpack::FieldLine;
using hpack::Token;

namespace {

// RFC 3986, 3.1.
bool is_scheme(std::string_view text) noexcept {
  const auto is_letter = [](char c) { return to_lower(c) >= 'a' && to_lower(c) <= 'z'; };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  });
}

}  // namespace

void RequestHeadBuilder::begin(H2Exchange& exchange, bool trailers) noexcept {
  exchange_ = &exchange;
  bytes_ = 0;
  lines_ = 0;
  has_cookie_ = false;
  seen_ = 0;
  trailers_ = trailers;
  regular_ = malformed_ = web_scheme_ = false;
  host_ = {};
}

void RequestHeadBuilder::add(const FieldLine& line) {
  if (malformed_) return;
  bytes_ += line.name.size() + line.value.size() + field_overhead_bytes;
  malformed_ = !judge(line);
}

bool RequestHeadBuilder::judge(const FieldLine& line) {
  // RFC 9113, 8.2.1: lower case, no separators, no line breaks, no space at either end.
  if (!line.name_is_valid || !line.value_is_valid) return false;
  const bool fits = bytes_ <= limits_.head_bytes_max;
  if (hpack::is_pseudo(line.token)) {
    if (trailers_ || regular_) return false;  // 8.1, 8.3
    if (fits) return add_pseudo(line);
    exchange_->session.head_too_large = true;
    return true;
  }
  regular_ = true;
  if (line.token != Token::none && !interpret_field(line)) return false;
  // A section with lines missing must not pass for a complete one.
  const bool kept = fits && counts(line);
  if (trailers_ && !kept) return false;
  if (trailers_ && !may_trail(line.name)) return true;
  if (!kept) {  // answered with 431
    exchange_->session.head_too_large = true;
    return true;
  }
  Fields& fields = trailers_ ? exchange_->session.trailers : exchange_->head.fields;
  const std::string_view value = keep(line.value, line.is_static);
  if (line.token == Token::host) host_ = value;
  fields.add(keep(line.name, line.name_is_static), value);
  return true;
}

// Counts a line. Returns false if there are too many. RFC 9113, 8.2.3: clients send Cookie in
// pieces, which are one field.
bool RequestHeadBuilder::counts(const FieldLine& line) noexcept {
  const bool cookie = line.token == Token::cookie;
  if (cookie && has_cookie_) return true;
  const bool fits = ++lines_ <= limits_.fields_max;
  has_cookie_ |= cookie && fits;
  return fits;
}

// RFC 9113, 8.3.1: each once, and not empty.
bool RequestHeadBuilder::add_pseudo(const FieldLine& line) {
  if (line.value.empty()) return false;
  RequestHead& head = exchange_->head;
  const std::string_view value = keep(line.value, line.is_static);
  switch (line.token) {
    case Token::method:
      head.method_name = value;
      head.method = parse_method(value);
      return once(seen_method) && (head.method != Method::unknown || is_token(value));
    case Token::path:
      head.target = value;
      return once(seen_path);
    case Token::authority:
      head.authority = value;
      return once(seen_authority) && is_authority(value);
    case Token::scheme:
      web_scheme_ = value == "http" || value == "https";
      return once(seen_scheme) && (web_scheme_ || is_scheme(value));
    default:
      return false;  // unknown, or ":protocol", which was not announced
  }
}

bool RequestHeadBuilder::is_authority(std::string_view text) {
  constexpr std::size_t kept_bytes_max = 128;  // in each connection; most are shorter
  if (text == authority_) return true;
  if (!parse_authority(text)) return false;
  if (text.size() <= kept_bytes_max) authority_ = text;
  return true;
}

// Handles fields that this server interprets or must reject. Returns false if malformed.
bool RequestHeadBuilder::interpret_field(const FieldLine& line) {
  switch (line.token) {
    case Token::connection:  // RFC 9113, 8.2.2
    case Token::keep_alive:
    case Token::proxy_connection:
    case Token::transfer_encoding:
    case Token::upgrade:
      return false;
    case Token::te:
      return equals_ignoring_case(line.value, "trailers");
    case Token::host:
      return trailers_ || (once(seen_host) && parse_authority(line.value).has_value());
    case Token::content_length: {  // RFC 9110, 8.6
      if (trailers_) return true;
      const auto length = parse_decimal(line.value);
      exchange_->head.content_length = length;
      return length.has_value() && once(seen_length);
    }
    case Token::expect:
      if (!trailers_) interpret_expect(line.value);
      return true;
    case Token::priority:
      if (!trailers_) exchange_->stream.priority = parse_priority(line.value);
      return true;
    default:
      return true;
  }
}

// RFC 9110, 10.1.1: a list. Other expectations may be ignored.
void RequestHeadBuilder::interpret_expect(std::string_view value) {
  for_each_element(value, [this](std::string_view expectation) {
    exchange_->session.expects_continue |= equals_ignoring_case(expectation, "100-continue");
  });
}

bool RequestHeadBuilder::validate() noexcept {
  if (malformed_) return false;
  if (trailers_ || exchange_->session.head_too_large) return true;
  RequestHead& head = exchange_->head;
  const bool authority = (seen_ & (seen_authority | seen_host)) != 0;
  if (head.method_name == "CONNECT") {  // RFC 9113, 8.5
    return (seen_ & (seen_scheme | seen_path)) == 0 && (seen_ & seen_authority) != 0;
  }
  const auto required = seen_method | seen_scheme | seen_path;
  if ((seen_ & required) != required || !authority) return false;
  if (head.authority.empty()) head.authority = host_;
  // 8.3.1: Host must not differ from ":authority".
  if (!host_.empty() && !equals_ignoring_case(host_, head.authority)) return false;
  const bool asterisk = head.target == "*" && head.method == Method::OPTIONS;
  return !web_scheme_ || head.target.starts_with('/') || asterisk;
}

}  // namespace h2server::http::h2
