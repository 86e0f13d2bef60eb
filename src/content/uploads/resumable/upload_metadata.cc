#include "content/uploads/resumable/upload_metadata.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/text/base64.h"
#include "base/text/text.h"
#include "http/fields/syntax.h"

namespace h2server::content {

namespace {

// Of tus: "must not contain spaces and commas and must not be empty", ASCII.
bool is_key(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

// RFC 9110, 5.6.4. `text` is a token, or a quoted string with its quotes.
std::string unquoted(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::string(text);
  text = text.substr(1, text.size() - 2);
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    plain += text[i];
  }
  return plain;
}

// RFC 8187, 3.2: charset'language'value. Returns "" for other charsets than UTF-8.
std::string decode_extended_value(std::string_view text) {
  const std::size_t first = text.find('\'');
  const std::size_t second = first == std::string_view::npos ? first : text.find('\'', first + 1);
  if (second == std::string_view::npos) return {};
  if (!base::equals_ignoring_case(text.substr(0, first), "utf-8")) return {};
  std::string decoded;
  for (std::size_t i = second + 1; i < text.size(); ++i) {
    const std::optional<char> byte = base::decode_percent(text.substr(i));
    if (text[i] == '%' && !byte) return {};
    decoded += byte.value_or(text[i]);
    if (byte) i += 2;
  }
  return decoded;
}

}  // namespace

std::optional<std::vector<UploadMetadata>> parse_upload_metadata(std::string_view field) {
  std::vector<UploadMetadata> metadata;
  while (!field.empty()) {
    const std::size_t comma = std::min(field.find(','), field.size());
    const std::string_view pair = base::trim(field.substr(0, comma));
    field.remove_prefix(std::min(comma + 1, field.size()));
    if (pair.empty()) continue;
    const std::size_t space = std::min(pair.find(' '), pair.size());
    std::string key(pair.substr(0, space));
    if (!is_key(key)) return std::nullopt;
    if (std::ranges::find(metadata, key, &UploadMetadata::key) != metadata.end()) {
      return std::nullopt;
    }
    std::optional<std::string> value = base::decode_base64(base::trim(pair.substr(space)));
    if (!value) return std::nullopt;
    metadata.push_back({std::move(key), *std::move(value)});
  }
  return metadata;
}

std::string file_name_of(const std::vector<UploadMetadata>& metadata) {
  for (const std::string_view key : {"filename", "name"}) {
    const auto found = std::ranges::find(metadata, key, &UploadMetadata::key);
    if (found != metadata.end() && !found->value.empty()) return found->value;
  }
  return {};
}

std::string file_name_of_disposition(std::string_view field) {
  std::string plain;
  std::string extended;
  http::take_until(field, ';');  // the type: inline, attachment, form-data…
  while (!field.empty()) {
    std::string_view value = http::take_until(field, ';');
    const std::size_t equals = std::min(value.find('='), value.size());
    const std::string_view name = base::trim(value.substr(0, equals));
    value = base::trim(value.substr(std::min(equals + 1, value.size())));
    if (base::equals_ignoring_case(name, "filename")) plain = unquoted(value);
    if (base::equals_ignoring_case(name, "filename*")) extended = decode_extended_value(value);
  }
  return extended.empty() ? plain : extended;
}

}  // namespace h2server::content
