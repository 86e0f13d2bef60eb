#include "h2server/authorization.h"

#include <algorithm>
#include <utility>

#include "base/text/base64.h"
#include "http/fields/syntax.h"

namespace h2server {

namespace {

// RFC 9110, 11.2.
bool is_token68(std::string_view text) noexcept {
  const auto is_octet = [](char c) {
    return base::is_alphanumeric(c) || std::string_view("-._~+/").contains(c);
  };
  const std::size_t padding = std::min(text.find('='), text.size());
  return padding > 0 && std::ranges::all_of(text.substr(0, padding), is_octet) &&
         text.find_first_not_of('=', padding) == std::string_view::npos;
}

// RFC 9110, 5.6.4. Returns nullopt if `text` is not one quoted string.
std::optional<std::string> unquote(std::string_view text) {
  if (text.size() < 2 || !text.starts_with('"') || !text.ends_with('"')) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') return std::nullopt;
    if (text[i] == '\\' && ++i == text.size()) return std::nullopt;
    if (!http::is_field_value_character(text[i])) return std::nullopt;
    plain += text[i];
  }
  return plain;
}

// auth-param of RFC 9110, 11.2.
std::optional<Parameter> parse_parameter(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string_view name = http::trim(text.substr(0, equals));
  const std::string_view value = http::trim(text.substr(equals + 1));
  if (!http::is_token(name)) return std::nullopt;
  if (http::is_token(value)) return Parameter{std::string(name), std::string(value)};
  std::optional<std::string> plain = unquote(value);
  if (!plain) return std::nullopt;
  return Parameter{std::string(name), *std::move(plain)};
}

bool has_name(const std::vector<Parameter>& parameters, std::string_view name) {
  return std::ranges::any_of(parameters, [name](const Parameter& parameter) {
    return http::equals_ignoring_case(parameter.name, name);
  });
}

// Returns the token of the request's credentials if they have that scheme.
std::optional<std::string_view> find_token(const Request& request, std::string_view scheme) {
  std::optional<std::string_view> value;
  for (const Field& line : request.head().fields) {
    if (!http::equals_ignoring_case(line.name, "authorization")) continue;
    if (value) return std::nullopt;
    value = line.value;
  }
  if (!value) return std::nullopt;
  const std::optional<Credentials> credentials = parse_credentials(*value);
  if (!credentials || !http::equals_ignoring_case(credentials->scheme, scheme) ||
      credentials->token.empty()) {
    return std::nullopt;
  }
  return credentials->token;
}

}  // namespace

std::optional<Credentials> parse_credentials(std::string_view value) {
  Credentials credentials;
  value = http::trim(value);
  credentials.scheme = value.substr(0, value.find(' '));
  if (!http::is_token(credentials.scheme)) return std::nullopt;
  std::string_view rest = http::trim(value.substr(credentials.scheme.size()));
  if (is_token68(rest)) {
    credentials.token = rest;
    return credentials;
  }
  while (!rest.empty()) {
    const std::string_view element = http::take_until(rest, ',');
    if (element.empty()) continue;  // RFC 9110, 5.6.1.2
    std::optional<Parameter> parameter = parse_parameter(element);
    if (!parameter || has_name(credentials.parameters, parameter->name)) return std::nullopt;
    credentials.parameters.push_back(*std::move(parameter));
  }
  return credentials;
}

std::optional<BasicCredentials> basic_credentials(const Request& request) {
  const std::optional<std::string_view> token = find_token(request, "basic");
  if (!token) return std::nullopt;
  const std::optional<std::string> both = base::decode_base64(*token);
  if (!both) return std::nullopt;
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  const std::size_t colon = both->find(':');
  if (colon == std::string::npos || std::ranges::any_of(*both, is_control)) return std::nullopt;
  return BasicCredentials{both->substr(0, colon), both->substr(colon + 1)};
}

std::optional<std::string_view> bearer_token(const Request& request) {
  return find_token(request, "bearer");
}

bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  // Volatile, so that the compiler does not leave the loop early.
  volatile unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = difference | static_cast<unsigned>(static_cast<unsigned char>(a[i] ^ b[i]));
  }
  return difference == 0;
}

}  // namespace h2server
