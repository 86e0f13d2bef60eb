#include "base/text/percent_encoding.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/text/text.h"

namespace h2server::base {

namespace {

constexpr std::array<bool, 256> is_unreserved = [] {
  std::array<bool, 256> set{};
  for (unsigned c = 0; c < set.size(); ++c) {
    const char byte = static_cast<char>(c);
    set[c] = is_alphanumeric(byte) || std::string_view("-._~").contains(byte);
  }
  return set;
}();

void append_byte(std::string& out, char c) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  out += {'%', digits[byte / 16], digits[byte % 16]};
}

// Appends `text` with every byte encoded that `stays`, called with its index, returns false for.
template <class Stays>
void append_encoded(std::string& out, std::string_view text, const Stays& stays) {
  std::size_t from = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (stays(at)) continue;
    out.append(text.substr(from, at - from));
    append_byte(out, text[at]);
    from = at + 1;
  }
  out.append(text.substr(from));
}

// Returns where the authority ends (RFC 3986, 3.2), 0 if there is none.
std::size_t authority_end(std::string_view text) noexcept {
  const std::size_t first = std::min(text.find_first_of("/?#"), text.size());
  const bool follows_scheme = first > 0 && text[first - 1] == ':';
  if (!text.substr(first).starts_with("//") || (first > 0 && !follows_scheme)) return 0;
  return std::min(text.find_first_of("/?#", first + 2), text.size());
}

}  // namespace

void append_percent_encoded(std::string& out, std::string_view text, Slashes slashes) {
  append_encoded(out, text, [&](std::size_t at) {
    return is_unreserved[static_cast<unsigned char>(text[at])] ||
           (text[at] == '/' && slashes == Slashes::kept);
  });
}

void append_uri_reference(std::string& out, std::string_view text) {
  const std::size_t host_end = authority_end(text);
  const std::size_t fragment = text.find('#');
  append_encoded(out, text, [&](std::size_t at) {
    switch (text[at]) {
      case '%':
        return decode_percent(text.substr(at)).has_value();
      case '[':
      case ']':
        return at < host_end;
      case '#':
        return at == fragment;
      default:
        return is_unreserved[static_cast<unsigned char>(text[at])] ||
               std::string_view(":/?@!$&'()*+,;=").contains(text[at]);
    }
  });
}

}  // namespace h2server::base
