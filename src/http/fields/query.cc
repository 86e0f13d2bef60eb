#include "h2server/query.h"

#include <algorithm>

#include "base/text/text.h"
#include "base/text/utf8.h"

namespace h2server {

namespace {

// WHATWG URL, 5.1, steps 3.4 to 3.6.
std::string decode(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  while (!text.empty()) {
    const std::optional<char> escaped = base::decode_percent(text);
    bytes += escaped ? *escaped : text.front() == '+' ? ' ' : text.front();
    text.remove_prefix(escaped ? 3 : 1);
  }
  return base::to_valid_utf8(bytes);
}

}  // namespace

Parameters::Parameters(std::string_view text) {
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    if (item.empty()) continue;
    if (items_.size() == count_max) {
      truncated_ = true;
      return;
    }
    const std::string_view name = item.substr(0, item.find('='));
    const std::string_view value = item.substr(std::min(name.size() + 1, item.size()));
    items_.push_back({decode(name), decode(value)});
  }
}

std::optional<std::string_view> Parameters::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(items_, name, &Parameter::name);
  if (found == items_.end()) return std::nullopt;
  return found->value;
}

std::vector<std::string_view> Parameters::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const Parameter& item : items_) {
    if (item.name == name) values.push_back(item.value);
  }
  return values;
}

}  // namespace h2server
