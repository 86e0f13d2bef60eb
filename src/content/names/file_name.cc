#include "content/names/file_name.h"

#include "base/text/utf8.h"

namespace h2server::content {
namespace {

unsigned byte_at(std::string_view text, std::size_t index) noexcept {
  return static_cast<unsigned char>(text[index]);
}

bool is_continuation(unsigned byte) noexcept { return (byte & 0xc0) == 0x80; }

std::string clean_characters(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const base::Utf8Unit unit = base::first_utf8_unit(text);
    const bool control = byte_at(text, 0) < 0x20 || text[0] == 0x7f;
    if (!unit.valid) clean.append(unit.size, '_');
    if (unit.valid && !control) clean += text.substr(0, unit.size);
    text.remove_prefix(unit.size);
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
