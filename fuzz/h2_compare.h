// Runs one conversation through both HTTP/2 sessions and compares the requests with their content,
// the responses as a client decodes them, and the errors.
#pragma once

#include <string>
#include <string_view>

namespace h2server::fuzz {

// The first byte controls delivery. Bit 0: prepend a preface and SETTINGS. Bits 1 and 2: size of
// the pieces. Bytes that begin with "PRI" have no control byte.
// Returns a description of the differences, empty if there are none.
std::string compare_h2(std::string_view input);

}  // namespace h2server::fuzz
