// Reference parser of request targets: reads them segment by segment, as RFC 3986 and
// http/fields/target.h define them. The fuzzers compare the in-place parser with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace h2server::fuzz {

struct TargetReference {
  std::string path;
  std::string_view query;      // view into the target
  std::string_view authority;  // of the absolute form, not validated; else empty
  bool absolute = false;
};

std::optional<TargetReference> read_target(std::string_view raw);

// Returns a target for the path, with every byte but the slash escaped (RFC 3986, 2.1).
std::string encode_path(std::string_view path);

}  // namespace h2server::fuzz
