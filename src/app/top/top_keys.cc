#include "app/top/top_keys.h"

#include <cstddef>
#include <optional>
#include <string>

namespace h2server::app {

namespace {

std::optional<Key> key_of_sequence(std::string_view parameters, char last) {
  if (last == 'A') return Key::up;
  if (last == 'B') return Key::down;
  if (last == 'H') return Key::home;
  if (last == 'F') return Key::end;
  if (last != '~') return std::nullopt;
  if (parameters == "1" || parameters == "7") return Key::home;
  if (parameters == "4" || parameters == "8") return Key::end;
  if (parameters == "5") return Key::page_up;
  return parameters == "6" ? std::optional(Key::page_down) : std::nullopt;
}

std::optional<Key> key_of_letter(char letter) {
  switch (letter) {
    case 'q':
    case 'Q':
      return Key::quit;
    case 's':
    case 'S':
      return Key::sort;
    case 'k':
      return Key::up;
    case 'j':
      return Key::down;
    case ' ':
      return Key::page_down;
    default:
      return std::nullopt;
  }
}

// The length of the control sequence at the start of `bytes`, which begins with "ESC [" or "ESC O".
std::size_t sequence_size(std::string_view bytes) {
  std::size_t at = 2;
  while (at < bytes.size() && (bytes[at] < '@' || bytes[at] > '~')) ++at;
  return at < bytes.size() ? at + 1 : bytes.size();
}

}  // namespace

std::vector<Key> parse_keys(std::string_view bytes) {
  std::vector<Key> keys;
  while (!bytes.empty()) {
    const bool sequence = bytes.starts_with("\x1b[") || bytes.starts_with("\x1bO");
    const std::size_t size = sequence ? sequence_size(bytes) : 1;
    const auto key = !sequence  ? key_of_letter(bytes[0])
                     : size > 2 ? key_of_sequence(bytes.substr(2, size - 3), bytes[size - 1])
                                : std::nullopt;
    if (key) keys.push_back(*key);
    bytes.remove_prefix(size);
  }
  return keys;
}

}  // namespace h2server::app
