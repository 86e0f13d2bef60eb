// ReceivedFields: the field lines of a response, as libcurl hands them over.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace h2server::app {

// By names in lower case; the last of a name.
using ReceivedFields = std::map<std::string, std::string>;

// Takes a line of the head. A status line begins a response: the one before it was interim.
void take_line(std::string_view line, ReceivedFields& fields);

}  // namespace h2server::app
