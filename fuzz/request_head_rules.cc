#include "request_head_rules.h"

#include <algorithm>
#include <string>

#include "http/fields/syntax.h"
#include "http/fields/target.h"
#include "http/fields/trailers.h"
#include "http/h2/h2_exchange.h"
#include "http/h2/protocol.h"
#include "http/h2/request_head.h"
#include "require.h"

namespace h2server::fuzz {

namespace {

using http::h2::H2Exchange;
using http::h2::RequestHeadBuilder;
using Lines = std::vector<DecodedLine>;

// Small enough for inputs to reach the limits.
Limits narrow_limits() {
  Limits limits;
  limits.head_bytes_max = 400;
  limits.fields_max = 3;
  return limits;
}

bool is_pseudo(const DecodedLine& line) { return line.name.starts_with(':'); }

std::ptrdiff_t count_of(const Lines& lines, std::string_view name) {
  return std::ranges::count(lines, name, &DecodedLine::name);
}

// RFC 9113, 8.2.3: the pieces of Cookie are one field.
std::size_t number_of(const Fields& fields) {
  const auto cookies = static_cast<std::size_t>(std::ranges::count(fields, "cookie", &Field::name));
  return fields.size() - (cookies > 0 ? cookies - 1 : 0);
}

// Counts as RFC 9113, 6.5.2 does.
std::size_t bytes_of(const Fields& fields) {
  std::size_t sum = 0;
  for (const Field& field : fields) {
    sum += field.name.size() + field.value.size() + http::h2::field_overhead_bytes;
  }
  return sum;
}

// Checks that `fields` are the regular lines in their order: all of them, or those that fit.
// Trailers omit the names that may not be trailers.
void require_same_fields(const Fields& fields, const Lines& lines, bool all, bool trailers) {
  auto field = fields.begin();
  for (const DecodedLine& line : lines) {
    if (is_pseudo(line) || (trailers && !http::may_trail(line.name))) continue;
    if (field == fields.end()) {
      require(!all, "no line is left out of what fits");
      return;
    }
    if (!all && (field->name != line.name || field->value != line.value)) continue;
    require_same(field->name, line.name, "a field has its line's name");
    require_same(field->value, line.value, "and its line's value");
    ++field;
  }
  require(field == fields.end(), "a field is a line that was sent");
}

// RFC 9113, 8.2: HTTP/1.1 field syntax, no connection-specific fields.
void require_sound_lines(const Lines& lines) {
  bool regular = false;
  for (const DecodedLine& line : lines) {
    const std::string_view plain = std::string_view(line.name).substr(is_pseudo(line) ? 1 : 0);
    require(http::is_token(plain), "a field's name is a token");
    require(std::ranges::none_of(plain, [](char c) { return c >= 'A' && c <= 'Z'; }),
            "a field's name is in lower case");
    require(std::ranges::all_of(line.value, http::is_field_value_character),
            "no field's value has a control");
    require(!regular || !is_pseudo(line), "pseudo-fields come first");
    regular |= !is_pseudo(line);
    for (const std::string_view name :
         {"connection", "keep-alive", "proxy-connection", "exchange-encoding", "upgrade"}) {
      require(line.name != name, "no field is a connection's");
    }
    require(line.name != "te" || http::equals_ignoring_case(line.value, "trailers"),
            "TE asks for trailers only");
  }
}

// RFC 9113, 8.3.1 and 8.5.
void require_sound_pseudo(const RequestHead& head, const Lines& lines) {
  std::ptrdiff_t known = 0;
  for (const std::string_view name : {":method", ":path", ":scheme", ":authority"}) {
    const std::ptrdiff_t count = count_of(lines, name);
    require(count <= 1, "a pseudo-field comes once");
    known += count;
  }
  require(std::ranges::count_if(lines, is_pseudo) == known, "no pseudo-field is unknown");
  require(count_of(lines, ":method") == 1, "a request has a method");
  require(http::is_token(head.method_name), "a method is a token");
  const bool connect = head.method_name == "CONNECT";
  require(count_of(lines, ":path") == (connect ? 0 : 1), "all but CONNECT have a path");
  require(count_of(lines, ":scheme") == (connect ? 0 : 1), "all but CONNECT have a scheme");
  require(head.target.empty() == connect, "a path is not empty");
  require(!head.authority.empty() && http::parse_authority(head.authority),
          "a request has an authority");
  require(count_of(lines, "host") <= 1, "Host comes once");
  const auto host = head.fields.find("host");
  require(!host || connect || http::equals_ignoring_case(*host, head.authority),
          "Host is the authority");
}

void require_sound_length(const RequestHead& head, const Lines& lines) {
  const auto field = head.fields.find("content-length");
  require(count_of(lines, "content-length") <= 1, "one Content-Length at most");
  require(field.has_value() == head.content_length.has_value(), "a length is the field's");
  if (field) require(http::parse_decimal(*field) == head.content_length, "a length is decimal");
}

// Returns true if the lines are well-formed.
bool build(RequestHeadBuilder& builder, H2Exchange& exchange, const Lines& lines, bool trailers) {
  trailers ? builder.begin_trailers(exchange) : builder.begin_head(exchange);
  for (const DecodedLine& line : lines) builder.add(line.view());
  return builder.validate();
}

void require_sound(const H2Exchange& exchange, const Lines& lines, const Limits& limits,
                   bool trailers) {
  const Fields& fields = trailers ? exchange.session.trailers : exchange.head.fields;
  require(number_of(fields) <= limits.fields_max, "as many fields as the limit at most");
  require(bytes_of(fields) <= limits.head_bytes_max, "as many bytes as the limit at most");
  require_sound_lines(lines);
  require_same_fields(fields, lines, !exchange.session.head_too_large, trailers);
  if (trailers) {
    require(std::ranges::none_of(lines, is_pseudo), "trailers have no pseudo-fields");
  } else if (!exchange.session.head_too_large) {
    require_sound_pseudo(exchange.head, lines);
    require_sound_length(exchange.head, lines);
  }
}

void check_section(const Lines& lines, const Limits& limits, bool trailers) {
  RequestHeadBuilder builder(limits);
  H2Exchange exchange;
  const bool good = build(builder, exchange, lines, trailers);
  if (good) require_sound(exchange, lines, limits, trailers);
  // A reused builder keeps no state of the section before.
  H2Exchange second;
  require(build(builder, second, lines, trailers) == good, "a builder can be used again");
  require(second.session.head_too_large == exchange.session.head_too_large, "with the same limits");
}

}  // namespace

void check_request_head(const std::vector<DecodedLine>& lines) {
  check_section(lines, Limits(), false);
  check_section(lines, narrow_limits(), false);
}

void check_trailers(const std::vector<DecodedLine>& lines) {
  check_section(lines, Limits(), true);
  check_section(lines, narrow_limits(), true);
}

}  // namespace h2server::fuzz
