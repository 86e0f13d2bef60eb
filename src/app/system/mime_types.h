// The system's table of media types, which Debian's package media-types installs.
#pragma once

#include <map>
#include <string>

namespace h2server::app {

inline constexpr const char* system_mime_types = "/etc/mime.types";

// Returns the types by extension that the built-in table does not have. Without the file there are
// none. A file that can't be used is named in the log: a server can do without it.
std::map<std::string, std::string> read_mime_types(const std::string& path);

}  // namespace h2server::app
