#include "http/fields/digest_fields.h"

#include <algorithm>
#include <cstring>

#include "base/text/base64.h"
#include "http/fields/joined_field.h"
#include "http/fields/syntax.h"

namespace h2server::http {

namespace {

bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }

// Reads a structured field (RFC 8941, 4.2). Each function removes what it reads from the front of
// the text, and returns nullopt or false if it is malformed.
class StructuredText {
 public:
  explicit StructuredText(std::string_view text) noexcept : rest_(text) {}

  [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
  [[nodiscard]] bool starts_with(char c) const noexcept { return rest_.starts_with(c); }

  bool take(char c) noexcept {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void skip_spaces() noexcept {
    while (take(' ')) {
    }
  }

  void skip_blanks() noexcept {
    while (take(' ') || take('\t')) {
    }
  }

  // 4.2.3.3
  std::optional<std::string_view> take_key() noexcept {
    if (rest_.empty() || !(is_lower(rest_.front()) || rest_.front() == '*')) return std::nullopt;
    return take_while([](char c) {
      return is_lower(c) || base::is_digit(c) || c == '_' || c == '-' || c == '.' || c == '*';
    });
  }

  // 4.2.7
  std::optional<std::string> take_bytes() {
    if (!take(':')) return std::nullopt;
    const std::size_t end = rest_.find(':');
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    while (text.size() % 4 != 0 && text.size() % 4 != 1) text += '=';  // padding may be missing
    return base::decode_base64(text);
  }

  // 4.2.1 and 4.2.3: the value of a member, of any type.
  bool skip_value() {
    if (starts_with('(')) return skip_inner_list() && skip_parameters();
    return skip_bare_item() && skip_parameters();
  }

  // 4.2.3.2
  bool skip_parameters() {
    while (take(';')) {
      skip_spaces();
      if (!take_key()) return false;
      if (take('=') && !skip_bare_item()) return false;
    }
    return true;
  }

 private:
  template <class Accept>
  std::string_view take_while(Accept accept) noexcept {
    const auto end = std::ranges::find_if_not(rest_, accept);
    const std::string_view taken(rest_.begin(), end);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  // 4.2.1.2
  bool skip_inner_list() {
    take('(');
    for (;;) {
      skip_spaces();
      if (take(')')) return true;
      if (!skip_bare_item() || !skip_parameters()) return false;
      if (!starts_with(' ') && !starts_with(')')) return false;
    }
  }

  // 4.2.3.1
  bool skip_bare_item() {
    if (rest_.empty()) return false;
    const char first = rest_.front();
    if (first == '"') return skip_string();
    if (first == ':') return take_bytes().has_value();
    if (first == '?') return skip_boolean();
    if (first == '-' || base::is_digit(first)) return skip_number();
    if (first != '*' && !is_lower(base::to_lower(first))) return false;
    take_while([](char c) { return base::is_token_character(c) || c == ':' || c == '/'; });
    return true;
  }

  // 4.2.4: 15 digits, or 12 and up to 3 decimals.
  bool skip_number() {
    take('-');
    const std::size_t digits = take_while(base::is_digit).size();
    if (!take('.')) return digits >= 1 && digits <= 15;
    const std::size_t decimals = take_while(base::is_digit).size();
    return digits >= 1 && digits <= 12 && decimals >= 1 && decimals <= 3;
  }

  // 4.2.5
  bool skip_string() {
    take('"');
    while (!rest_.empty()) {
      if (take('"')) return true;
      if (take('\\') && !starts_with('"') && !starts_with('\\')) return false;
      if (rest_.empty() || rest_.front() < 0x20 || rest_.front() >= 0x7f) return false;
      rest_.remove_prefix(1);
    }
    return false;
  }

  // 4.2.8
  bool skip_boolean() {
    take('?');
    return take('0') || take('1');
  }

  std::string_view rest_;
};

// Reads a digest of an algorithm that counts. The last of several values counts.
template <std::size_t bytes>
bool take_digest(StructuredText& text, std::optional<std::array<unsigned char, bytes>>& value) {
  if (!text.take('=')) return false;
  const std::optional<std::string> digest = text.take_bytes();
  if (!digest || digest->size() != bytes) return false;
  std::memcpy(value.emplace().data(), digest->data(), bytes);
  return text.skip_parameters();
}

bool take_member(StructuredText& text, DigestFields& found) {
  const std::optional<std::string_view> key = text.take_key();
  if (!key) return false;
  if (*key == "sha-256") return take_digest(text, found.sha256);
  if (*key == "sha-512") return take_digest(text, found.sha512);
  found.other = true;
  return text.take('=') ? text.skip_value() : text.skip_parameters();
}

// RFC 8941, 4.2.2.
bool take_dictionary(StructuredText text, DigestFields& found) {
  text.skip_spaces();
  while (!text.empty()) {
    if (!take_member(text, found)) return false;
    text.skip_blanks();
    if (text.empty()) return true;
    if (!text.take(',')) return false;
    text.skip_blanks();
    if (text.empty()) return false;  // a comma at the end
  }
  return true;
}

}  // namespace

DigestFields parse_digest_field(std::string_view value) {
  DigestFields found;
  if (take_dictionary(StructuredText(value), found)) return found;
  return DigestFields{.sha256 = {}, .sha512 = {}, .malformed = true};
}

std::optional<DigestFields> find_digest_field(const Fields& fields, std::string_view name) {
  const std::optional<std::string> value = joined_field(fields, name);
  if (!value) return std::nullopt;
  return parse_digest_field(*value);
}

std::string digest_field(std::span<const unsigned char> sha256) {
  const std::string_view bytes(reinterpret_cast<const char*>(sha256.data()), sha256.size());
  return "sha-256=:" + base::encode_base64(bytes) + ":";
}

}  // namespace h2server::http
