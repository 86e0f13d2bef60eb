// XML: reads documents into trees, and writes elements as WebDAV has them (RFC 4918, 14).
//
// Reads with expat, without document types and entities of their own (20.6), and with bounds.
// Writes each element with the namespace that it has, so that it can stand anywhere. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/result.h"

namespace h2server::content {

inline constexpr std::string_view xml_namespace = "http://www.w3.org/XML/1998/namespace";

// By default those of a request's body: a client lists its properties.
struct XmlLimits {
  std::size_t bytes_max = 64 * 1024;  // of the document; at most INT_MAX
  std::size_t depth_max = 32;         // of elements in elements
  std::size_t nodes_max = 4096;       // elements, attributes and pieces of text
  // Of all names: each has its namespace, which stands once in the document.
  std::size_t names_bytes_max = 256 * 1024;
};

inline constexpr std::string_view dav_namespace = "DAV:";

struct XmlName {
  std::string space;  // the namespace's name; empty: none
  std::string local;
  bool operator==(const XmlName&) const = default;
};

struct XmlAttribute {
  XmlName name;
  std::string value;
};

// An element, or a piece of text between elements.
struct XmlNode {
  XmlName name = {};  // without a local name: text
  std::string text = {};
  std::vector<XmlAttribute> attributes = {};
  std::vector<XmlNode> children = {};

  [[nodiscard]] bool is_text() const noexcept { return name.local.empty(); }
  // Returns true if it is an element of the namespace "DAV:" with that name.
  [[nodiscard]] bool is(std::string_view local) const noexcept {
    return name.space == dav_namespace && name.local == local;
  }
  // Returns the first child that is such an element, or null.
  [[nodiscard]] const XmlNode* find(std::string_view local) const noexcept;
};

// Returns the root. The error says what is wrong with the document.
Result<XmlNode, std::string_view> parse_xml(std::string_view text, const XmlLimits& limits = {});

// Appends text as the content of an element or of an attribute in double quotes. Characters that
// XML does not allow are replaced by U+FFFD.
void append_xml(std::string& out, std::string_view text);
// Appends the element and what is in it.
void append_node(std::string& out, const XmlNode& node);
// Appends an element without content: "<D:name/>" in the namespace "DAV:", for which the prefix D
// must be declared.
void append_empty_element(std::string& out, const XmlName& name);

}  // namespace h2server::content
