#include "h2server/cookies.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "http/fields/date.h"
#include "http/fields/syntax.h"

namespace h2server {

namespace {

constexpr std::size_t name_and_value_bytes_max = 4096;  // RFC 6265bis, 5.6
constexpr std::size_t attribute_bytes_max = 1024;       // RFC 6265bis, 5.6
// Browsers reject years before 1601 (RFC 6265bis, 5.1.1). HTTP dates end with the year 9999.
constexpr std::int64_t expires_s_min = -11'644'473'600;
constexpr std::int64_t expires_s_max = 253'402'300'799;

void require_cookie(bool good, std::string_view what) {
  if (!good) throw std::invalid_argument("not a cookie that can be set: " + std::string(what));
}

// RFC 6265bis, 4.1.1: cookie-octet.
bool is_cookie_octet(char c) noexcept {
  return c > 0x20 && c < 0x7f && c != '"' && c != ',' && c != ';' && c != '\\';
}

bool is_cookie_value(std::string_view text) noexcept {
  if (text.size() >= 2 && text.starts_with('"') && text.ends_with('"')) {
    text = text.substr(1, text.size() - 2);
  }
  return std::ranges::all_of(text, is_cookie_octet);
}

// RFC 6265bis, 4.1.1: path-value. Browsers ignore a path without a slash at its start (5.6.4).
bool is_path(std::string_view text) noexcept {
  const auto is_octet = [](char c) { return c >= 0x20 && c < 0x7f && c != ';'; };
  return text.starts_with('/') && !text.ends_with(' ') && text.size() <= attribute_bytes_max &&
         std::ranges::all_of(text, is_octet);
}

// RFC 1034, 3.5, and digits at the start of a label (RFC 1123, 2.1). Not empty.
bool is_domain(std::string_view text) noexcept {
  if (text.size() > 253) return false;
  for (;;) {
    const std::string_view label = text.substr(0, text.find('.'));
    const auto is_octet = [](char c) { return base::is_alphanumeric(c) || c == '-'; };
    if (label.empty() || label.size() > 63 || label.starts_with('-') || label.ends_with('-') ||
        !std::ranges::all_of(label, is_octet)) {
      return false;
    }
    if (label.size() == text.size()) return true;
    text.remove_prefix(label.size() + 1);
  }
}

bool begins_with(std::string_view name, std::string_view prefix) noexcept {
  return http::equals_ignoring_case(name.substr(0, prefix.size()), prefix);
}

void check_cookie(const SetCookie& cookie) {
  require_cookie(http::is_token(cookie.name), "its name");
  require_cookie(is_cookie_value(cookie.value), "its value");
  require_cookie(cookie.name.size() + cookie.value.size() <= name_and_value_bytes_max, "its size");
  require_cookie(cookie.path.empty() || is_path(cookie.path), "its path");
  require_cookie(cookie.domain.empty() || is_domain(cookie.domain), "its domain");
  require_cookie(cookie.max_age_s.value_or(0) >= 0, "its age");
  const std::int64_t expires_s = cookie.expires_s.value_or(0);
  require_cookie(expires_s >= expires_s_min && expires_s <= expires_s_max, "its date");
  require_cookie(cookie.secure || cookie.same_site != SameSite::none,
                 "SameSite=None without Secure");
  require_cookie(cookie.secure || !cookie.partitioned, "Partitioned without Secure");
  // RFC 6265bis, 4.1.3; 5.7 compares them case-insensitively.
  const bool for_host = begins_with(cookie.name, "__Host-");
  require_cookie(cookie.secure || !begins_with(cookie.name, "__Secure-"),
                 "__Secure- without Secure");
  require_cookie(!for_host || (cookie.secure && cookie.path == "/" && cookie.domain.empty()),
                 "__Host- without Secure and Path=/, or with a domain");
}

std::string_view same_site_name(SameSite same_site) noexcept {
  switch (same_site) {
    case SameSite::strict:
      return "Strict";
    case SameSite::lax:
      return "Lax";
    case SameSite::none:
      return "None";
  }
  return {};
}

}  // namespace

Cookies::Cookies(const Fields& fields) {
  for (const Field& line : fields) {
    if (!http::equals_ignoring_case(line.name, "cookie")) continue;
    std::string_view rest = line.value;
    while (!rest.empty()) {
      const std::string_view whole = rest.substr(0, rest.find(';'));
      rest.remove_prefix(std::min(whole.size() + 1, rest.size()));
      const std::string_view item = http::trim(whole);
      if (item.empty()) continue;
      const std::size_t equals = item.find('=');
      if (equals == std::string_view::npos) {
        items_.push_back({std::string_view(), item});
      } else {
        items_.push_back({http::trim(item.substr(0, equals)), http::trim(item.substr(equals + 1))});
      }
    }
  }
}

std::optional<std::string_view> Cookies::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(items_, name, &Field::name);
  if (found == items_.end()) return std::nullopt;
  return found->value;
}

std::string to_field(const SetCookie& cookie) {
  check_cookie(cookie);
  std::string field = cookie.name + "=" + cookie.value;
  if (!cookie.path.empty()) field.append("; Path=").append(cookie.path);
  if (!cookie.domain.empty()) field.append("; Domain=").append(cookie.domain);
  if (cookie.max_age_s) field.append(fmt::format("; Max-Age={}", *cookie.max_age_s));
  if (cookie.expires_s) {
    std::array<char, http::date_size> date;
    http::format_date(*cookie.expires_s, date);
    field.append("; Expires=").append(date.data(), date.size());
  }
  if (cookie.secure) field.append("; Secure");
  if (cookie.http_only) field.append("; HttpOnly");
  if (cookie.same_site) field.append("; SameSite=").append(same_site_name(*cookie.same_site));
  if (cookie.partitioned) field.append("; Partitioned");
  return field;
}

}  // namespace h2server
