#include "content/s3/documents.h"

#include <algorithm>

namespace h2server::content::s3 {

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

}  // namespace h2server::content::s3
