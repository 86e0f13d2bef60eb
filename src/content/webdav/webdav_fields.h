// Fields of requests that RFC 4918 adds: Depth, Overwrite, Timeout, Destination, Lock-Token and If.
//
// Does not look at files or locks. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/result.h"

namespace h2server::content {

enum class Depth : std::uint8_t { zero, one, infinity };

// RFC 4918, 10.2. Returns `usual` without a value, and nullopt if the value is malformed.
std::optional<Depth> parse_depth(std::optional<std::string_view> value, Depth usual) noexcept;

// RFC 4918, 10.6. Returns true without a value, and nullopt if the value is malformed.
std::optional<bool> parse_overwrite(std::optional<std::string_view> value) noexcept;

// RFC 4918, 10.7: the first type that is known counts. Returns seconds, from 1 to `seconds_max`,
// which also stands for "Infinite" and for no value that is known.
std::uint32_t parse_timeout(std::optional<std::string_view> value,
                            std::uint32_t seconds_max) noexcept;

// RFC 4918, 10.5. Returns the URI between the angle brackets, or nullopt if there is none.
std::optional<std::string_view> parse_coded_url(std::string_view value) noexcept;

// Returns the decoded path of a URI or of an absolute path that names something on the host
// `authority`, as Destination (RFC 4918, 10.3) and the tags of If do. The port is not compared if
// one of the two has none, since a proxy may stand between. The error is the status of the
// response: 400 if the value is malformed, 502 if it names another host.
Result<std::string, int> parse_reference(std::string_view value, std::string_view authority);

// Returns the part of a decoded path below `base`, such as "/files", without slashes at its ends;
// empty for `base` itself. Returns nullopt if the path lies elsewhere.
std::optional<std::string> path_below(std::string_view path, std::string_view base);

// If (RFC 4918, 10.4).
struct IfCondition {
  bool negated = false;
  bool is_tag = false;  // the value is an entity tag with its quotes, otherwise a state token
  std::string_view value;
};
// All conditions must hold.
struct IfList {
  std::string_view resource;  // a URI or an absolute path; empty: that of the request
  std::vector<IfCondition> conditions;
};
struct IfLimits {
  static constexpr std::size_t conditions_max = 256;  // of all lists: each may look at a file
};

// Returns nullopt if the value is malformed or has too many conditions. The views point into it.
std::optional<std::vector<IfList>> parse_if(std::string_view value);

}  // namespace h2server::content
