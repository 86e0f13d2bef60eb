#include "content/file_name.h"

namespace h2server::content {
namespace {

unsigned byte_at(std::string_view text, std::size_t index) noexcept {
  return static_cast<unsigned char>(text[index]);
}

bool is_continuation(unsigned byte) noexcept { return (byte & 0xc0) == 0x80; }

// Returns the size of the UTF-8 character that `text` starts with, or 0 if there is none (RFC 3629,
// 4). The second byte's range excludes overlong forms, surrogates and values above U+10FFFF.
std::size_t character_size(std::string_view text) noexcept {
  const unsigned lead = byte_at(text, 0);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const std::size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (text.size() < size) return 0;
  const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (byte_at(text, 1) < low || byte_at(text, 1) > high) return 0;
  for (std::size_t i = 2; i < size; ++i) {
    if (!is_continuation(byte_at(text, i))) return 0;
  }
  return size;
}

std::string clean_characters(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    const bool control = byte_at(text, 0) < 0x20 || text[0] == 0x7f;
    if (size == 0) clean += '_';
    if (!control) clean += text.substr(0, size);
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return clean;
}

std::string_view strip(std::string_view name) noexcept {
  constexpr std::string_view dots_and_spaces = ". ";
  const auto first = name.find_first_not_of(dots_and_spaces);
  if (first == std::string_view::npos) return {};
  return name.substr(first, name.find_last_not_of(dots_and_spaces) - first + 1);
}

// `name` is stripped, so a dot in it has text on both sides. Returns "" if no stem is left.
std::string shorten(std::string_view name) {
  if (name.size() <= file_name_bytes_max) return std::string(name);
  const auto dot = name.rfind('.');
  const auto extension = dot == std::string_view::npos ? std::string_view() : name.substr(dot);
  if (extension.size() >= file_name_bytes_max) return {};
  std::size_t cut = file_name_bytes_max - extension.size();
  while (cut > 0 && is_continuation(byte_at(name, cut))) --cut;
  const auto stem = strip(name.substr(0, cut));
  return stem.empty() ? std::string() : std::string(stem).append(extension);
}

}  // namespace

std::optional<std::string> safe_file_name(std::string_view claimed) {
  const auto base = claimed.substr(claimed.find_last_of("/\\") + 1);  // npos + 1 is 0: all of it
  const std::string clean = clean_characters(base);
  std::string name = shorten(strip(clean));
  if (name.empty() || name.starts_with(temporary_file_prefix)) return std::nullopt;
  return name;
}

}  // namespace h2server::content
