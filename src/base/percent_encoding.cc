#include "base/percent_encoding.h"

#include <array>

#include "base/text.h"

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

}  // namespace

void append_percent_encoded(std::string& out, std::string_view text, Slashes slashes) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::size_t from = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (is_unreserved[byte] || (byte == '/' && slashes == Slashes::kept)) continue;
    out.append(text.substr(from, at - from));
    out += {'%', digits[byte / 16], digits[byte % 16]};
    from = at + 1;
  }
  out.append(text.substr(from));
}

}  // namespace h2server::base
