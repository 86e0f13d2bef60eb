#include "base/text/secrets.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "base/text/text.h"

namespace h2server::base {

namespace {

// Takes one character from `text`, decoded if it is escaped.
char take_character(std::string_view& text) noexcept {
  const std::optional<char> decoded = text.front() == '%' ? decode_percent(text) : std::nullopt;
  const char c = decoded.value_or(text.front());
  text.remove_prefix(decoded ? 3 : 1);
  return c;
}

bool is_spelling_of(std::string_view spelled, std::string_view name) noexcept {
  for (const char c : name) {
    if (spelled.empty() || to_lower(take_character(spelled)) != c) return false;
  }
  return spelled.empty();
}

bool is_secret(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 3> secrets = {"token", "access_token", "signature"};
  return std::ranges::any_of(secrets, [name](auto secret) { return is_spelling_of(name, secret); });
}

}  // namespace

std::string_view hide_secrets(std::string_view url, std::string& room) {
  const std::size_t query = url.find('?');
  if (query == std::string_view::npos) return url;
  bool found = false;
  std::size_t copied = 0;
  for (std::size_t at = query + 1; at < url.size();) {
    const std::size_t end = std::min(url.find_first_of("&#", at), url.size());
    const std::string_view item = url.substr(at, end - at);
    const std::size_t equals = item.find('=');
    if (equals != std::string_view::npos && is_secret(item.substr(0, equals))) {
      if (!found) room.clear();
      found = true;
      room.append(url.substr(copied, at + equals + 1 - copied)).append("***");
      copied = end;
    }
    at = end + 1;
  }
  return found ? room.append(url.substr(copied)) : url;
}

}  // namespace h2server::base
