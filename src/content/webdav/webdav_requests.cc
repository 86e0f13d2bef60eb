#include "content/webdav/webdav_requests.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace h2server::content {

namespace {

const XmlAttribute* language_of(const XmlNode& node) {
  const auto found = std::ranges::find_if(node.attributes, [](const XmlAttribute& attribute) {
    return attribute.name.space == xml_namespace && attribute.name.local == "lang";
  });
  return found != node.attributes.end() ? &*found : nullptr;
}

// Each name once: what is named again needs no second answer.
std::vector<XmlName> property_names(const XmlNode& prop) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  std::vector<XmlName> names;
  for (const XmlNode& child : prop.children) {
    if (child.is_text()) continue;
    const bool is_new = seen.emplace(child.name.space, child.name.local).second;
    if (is_new) names.push_back(child.name);
  }
  return names;
}

// RFC 4918, 4.3: the language is a part of the value, wherever it is declared.
std::string element_of(const XmlNode& property, const XmlAttribute* language) {
  std::string text;
  if (language == nullptr || language_of(property) != nullptr) {
    append_node(text, property);
    return text;
  }
  XmlNode copy = property;
  copy.attributes.push_back(*language);
  append_node(text, copy);
  return text;
}

}  // namespace

std::optional<Propfind> read_propfind(const XmlNode& root) {
  if (!root.is("propfind")) return std::nullopt;
  const XmlNode* const all = root.find("allprop");
  const XmlNode* const names = root.find("propname");
  const XmlNode* const some = root.find("prop");
  const int kinds =
      (all != nullptr ? 1 : 0) + (names != nullptr ? 1 : 0) + (some != nullptr ? 1 : 0);
  if (kinds != 1) return std::nullopt;
  if (names != nullptr) return Propfind{.kind = Propfind::Kind::names};
  if (some != nullptr)
    return Propfind{.kind = Propfind::Kind::some, .names = property_names(*some)};
  Propfind asked;
  if (const XmlNode* const include = root.find("include")) asked.names = property_names(*include);
  return asked;
}

std::optional<std::vector<PropertyUpdate>> read_propertyupdate(const XmlNode& root) {
  if (!root.is("propertyupdate")) return std::nullopt;
  std::vector<PropertyUpdate> updates;
  for (const XmlNode& step : root.children) {
    const bool sets = step.is("set");
    if (!sets && !step.is("remove")) continue;  // RFC 4918, 17: unknown elements are ignored
    const XmlNode* const prop = step.find("prop");
    if (prop == nullptr) return std::nullopt;
    const XmlAttribute* language = language_of(*prop);
    if (language == nullptr) language = language_of(step);
    if (language == nullptr) language = language_of(root);
    for (const XmlNode& property : prop->children) {
      if (property.is_text()) continue;
      PropertyUpdate update{.name = property.name};
      if (sets) update.element = element_of(property, language);
      updates.push_back(std::move(update));
    }
  }
  if (updates.empty()) return std::nullopt;
  return updates;
}

std::optional<LockInfo> read_lockinfo(const XmlNode& root) {
  if (!root.is("lockinfo")) return std::nullopt;
  const XmlNode* const scope = root.find("lockscope");
  const XmlNode* const type = root.find("locktype");
  if (scope == nullptr || type == nullptr || type->find("write") == nullptr) return std::nullopt;
  LockInfo info{.shared = scope->find("shared") != nullptr};
  if (!info.shared && scope->find("exclusive") == nullptr) return std::nullopt;
  if (const XmlNode* const owner = root.find("owner")) {
    for (const XmlNode& child : owner->children) append_node(info.owner, child);
  }
  return info;
}

}  // namespace h2server::content
