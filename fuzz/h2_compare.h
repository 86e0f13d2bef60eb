// One conversation given to both HTTP/2 sessions, and what they must agree upon: the requests with
// their content, the answers as a client decodes them, and what was an error.
#pragma once

#include <string>
#include <string_view>

namespace h2server::fuzz {

// The first byte says how the others arrive (bit 0: behind a preface and SETTINGS; bits 1 and 2: in
// pieces of what size); bytes that begin with a preface of their own have no such byte.
// Returns what the sessions disagree upon, as a text; empty: nothing.
std::string compare_h2(std::string_view input);

}  // namespace h2server::fuzz
