// A request target read segment by segment, as RFC 3986 and http/target.h define it: what the
// parser, which works on bytes in place, is compared with.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace h2server::fuzz {

struct TargetReference {
  std::string path;
  std::string_view query;      // views into the target
  std::string_view authority;  // of the absolute form, not judged; else empty
  bool absolute = false;
};

std::optional<TargetReference> read_target(std::string_view raw);

// A target of that path, with every byte escaped that may be (RFC 3986, 2.1).
std::string encode_path(std::string_view path);

}  // namespace h2server::fuzz
