// Reference of how Forwarded and X-Forwarded-For name the client of a proxy: goes over each line
// once from its start, and keeps all that it names. The fuzzer compares the middleware with it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace h2server::fuzz {

struct ForwardedLine {
  std::string name;  // of the field
  std::string value;
};

// Returns the client, or an empty text if the lines name none. `trusted` knows the proxies by their
// addresses.
std::string read_forwarded(const std::vector<ForwardedLine>& lines,
                           const std::function<bool(const std::string&)>& trusted);

}  // namespace h2server::fuzz
