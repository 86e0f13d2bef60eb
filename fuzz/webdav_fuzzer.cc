// Fuzzer of what WebDAV adds to requests. An input that begins with '<' is the body of PROPFIND,
// PROPPATCH and LOCK; any other one is the value of If, and of the other fields.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "content/webdav/webdav_fields.h"
#include "content/webdav/webdav_files.h"
#include "content/webdav/webdav_requests.h"
#include "content/xml/xml.h"
#include "fuzzer.h"
#include "http/fields/syntax.h"
#include "require.h"

namespace h2server::fuzz {

namespace {

using namespace content;

std::string written(const XmlNode& node) {
  std::string text;
  append_node(text, node);
  return text;
}

// A document means the same after it was written.
std::string check_document(std::string_view input) {
  const Result<XmlNode, std::string_view> root = parse_xml(input);
  if (!root) return {};
  std::string text = written(*root);
  if (text.size() > XmlLimits().bytes_max) return text;
  const Result<XmlNode, std::string_view> again = parse_xml(text);
  require(again.has_value(), "what is written can be read");
  require_same(written(*again), text, "and is the same");
  return text;
}

void check_bodies(std::string_view input) {
  check_document(input);
  const Result<XmlNode, std::string_view> root = parse_xml(input);
  if (!root) return;
  (void)read_propfind(*root);
  if (const auto updates = read_propertyupdate(*root)) {
    require(!updates->empty(), "an update changes something");
    for (const PropertyUpdate& update : *updates) {
      require(!update.name.local.empty(), "a property has a name");
      if (!update.element || update.element->size() > XmlLimits().bytes_max) continue;
      const Result<XmlNode, std::string_view> element = parse_xml(*update.element);
      require(element && element->name == update.name, "an element stands for itself");
    }
  }
  if (const auto lock = read_lockinfo(*root)) {
    const std::string owner = "<o>" + lock->owner + "</o>";
    require(owner.size() > XmlLimits().bytes_max || parse_xml(owner).has_value(),
            "an owner can stand in a response");
  }
}

std::string written(const std::vector<IfList>& lists) {
  std::string text;
  std::string_view resource;
  for (const IfList& list : lists) {
    if (list.resource != resource) {
      resource = list.resource;
      text.append("<").append(resource).append(">");
    }
    text += '(';
    for (const IfCondition& condition : list.conditions) {
      if (condition.negated) text += "Not ";
      const std::string_view brackets = condition.is_tag ? "[]" : "<>";
      text.append(1, brackets[0]).append(condition.value).append(1, brackets[1]);
    }
    text += ')';
  }
  return text;
}

void check_if(std::string_view value) {
  const std::optional<std::vector<IfList>> lists = parse_if(value);
  if (!lists) return;
  require(!lists->empty(), "there is a list");
  for (const IfList& list : *lists) {
    require(!list.conditions.empty(), "a list has conditions");
    require(list.resource.empty() == lists->front().resource.empty(),
            "all lists are tagged or none");
  }
  const std::string text = written(*lists);
  const std::optional<std::vector<IfList>> again = parse_if(text);
  require(again.has_value(), "what is written can be read");
  require_same(written(*again), text, "and is the same");
}

void check_other_fields(std::string_view value) {
  const std::uint32_t seconds = parse_timeout(value, 3600);
  require(seconds >= 1 && seconds <= 3600, "a timeout lies in its range");
  (void)parse_depth(value, Depth::zero);
  (void)parse_overwrite(value);
  (void)parse_coded_url(value);
  const Result<std::string, int> path = parse_reference(value, "example.org");
  if (!path) return require(path.error() == 400 || path.error() == 502, "an error has a status");
  require(path->starts_with('/'), "a path begins with a slash");
  const std::optional<std::string> below = path_below(*path, "/files");
  if (!below || !is_safe_path(*below) || below->empty()) return;
  const std::string inside = "/" + *below + "/";
  for (const char* const part : {"//", "/.", "/h2_tmp_", "\\"}) {
    require(!inside.contains(part), "a safe path names nothing hidden");
  }
}

}  // namespace

void check(std::string_view input) {
  if (input.starts_with('<')) check_bodies(input);
  if (!std::ranges::all_of(input, http::is_field_value_character)) return;
  check_if(input);
  check_other_fields(input);
}

}  // namespace h2server::fuzz
