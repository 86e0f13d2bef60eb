// What the bodies of PROPFIND, PROPPATCH and LOCK ask for (RFC 4918, 14). Pure functions, any
// thread. They return nullopt if the document does not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "content/xml/xml.h"

namespace h2server::content {

struct Propfind {
  enum class Kind : std::uint8_t { all, names, some };
  Kind kind = Kind::all;
  std::vector<XmlName> names = {};  // of `some`, and what `all` includes beside (9.1.5)
};

struct PropertyUpdate {
  XmlName name;
  std::optional<std::string> element = {};  // the property with its value; nullopt: remove it
};

struct LockInfo {
  bool shared = false;
  std::string owner = {};  // the content of the element, as XML; may be empty
};

std::optional<Propfind> read_propfind(const XmlNode& root);
// In the order of the document, which is that of execution (9.2).
std::optional<std::vector<PropertyUpdate>> read_propertyupdate(const XmlNode& root);
std::optional<LockInfo> read_lockinfo(const XmlNode& root);

}  // namespace h2server::content
