#include "content/s3/documents.h"

#include <algorithm>
#include <chrono>

#include "base/text/text.h"
#include "base/text/utf8.h"

namespace h2server::content::s3 {

namespace {

constexpr std::size_t message_bytes_max = 300;

}  // namespace

const XmlNode* find_child(const XmlNode& node, std::string_view name) noexcept {
  const auto found = std::ranges::find_if(
      node.children, [name](const XmlNode& child) { return child.name.local == name; });
  return found != node.children.end() ? &*found : nullptr;
}

std::string_view text_of(const XmlNode& node, std::string_view child_name) noexcept {
  const XmlNode* const child = find_child(node, child_name);
  if (child == nullptr || child->children.empty()) return {};
  return child->children.front().text;
}

std::optional<std::int64_t> parse_time(std::string_view text) noexcept {
  constexpr std::string_view form = "dddd-dd-ddTdd:dd:dd";
  if (text.size() <= form.size() || !text.ends_with('Z')) return std::nullopt;
  for (std::size_t at = 0; at < form.size(); ++at) {
    if (form[at] == 'd' ? !base::is_digit(text[at]) : text[at] != form[at]) return std::nullopt;
  }
  const auto number = [text](std::size_t at, std::size_t size) {
    return static_cast<unsigned>(base::parse_decimal(text.substr(at, size)).value_or(0));
  };
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(number(0, 4))),
                                         std::chrono::month(number(5, 2)),
                                         std::chrono::day(number(8, 2))};
  if (!date.ok() || number(11, 2) > 23 || number(14, 2) > 59 || number(17, 2) > 60) {
    return std::nullopt;
  }
  const auto day = std::chrono::sys_days(date).time_since_epoch();
  return std::chrono::seconds(day).count() + number(11, 2) * 3600 + number(14, 2) * 60 +
         number(17, 2);
}

std::string printable(std::string_view text) {
  std::string line = base::to_valid_utf8(text.substr(0, message_bytes_max));
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return line;
}

}  // namespace h2server::content::s3
