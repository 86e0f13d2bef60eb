// Invariants of the fuzzers. A broken one raises SIGABRT; libFuzzer or the replay program reports
// the input that broke it.
#pragma once

#include <string_view>

namespace h2server::fuzz {

// Aborts unless `holds` is true. `what` states the invariant.
void require(bool holds, std::string_view what);

// Aborts unless the texts are equal. Prints both from shortly before the first difference.
void require_same(std::string_view left, std::string_view right, std::string_view what);

}  // namespace h2server::fuzz
