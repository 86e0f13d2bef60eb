#include "content/names/object_key.h"

#include <algorithm>

#include "base/text/utf8.h"

namespace h2server::content {

bool is_object_key(std::string_view text) noexcept {
  if (text.size() > key_bytes_max || !base::is_utf8(text)) return false;
  for (std::size_t at = 0;; ++at) {
    const std::size_t end = std::min(text.find('/', at), text.size());
    const std::string_view segment = text.substr(at, end - at);
    if (segment.empty() || segment == "." || segment == "..") return false;
    if (end == text.size()) return true;
    at = end;
  }
}

bool is_key_prefix(std::string_view text) noexcept {
  if (text.empty()) return true;
  if (!text.ends_with('/')) return false;
  text.remove_suffix(1);
  return is_object_key(text);
}

}  // namespace h2server::content
