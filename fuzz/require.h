// Invariants of the fuzzers. A broken one ends the process by SIGABRT; libFuzzer and the replay
// report it with the input that broke it.
#pragma once

#include <string_view>

namespace h2server::fuzz {

// Aborts unless `holds`; `what` states the invariant.
void require(bool holds, std::string_view what);

// Aborts unless the texts are equal, and prints both from shortly before the first difference.
void require_same(std::string_view left, std::string_view right, std::string_view what);

}  // namespace h2server::fuzz
