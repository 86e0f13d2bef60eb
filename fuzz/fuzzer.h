// Interface of a fuzzer: one function, defined in NAME_fuzzer.cc. It is linked into two programs:
//   libfuzzer.cc  NAME_fuzzer, which generates inputs; built with H2SERVER_FUZZ
//   replay.cc     fuzz_NAME_replay, which runs and mutates given files; the ctest entry
//                 fuzz.NAME
#pragma once

#include <string_view>

namespace h2server::fuzz {

// Accepts any bytes. Aborts if an invariant is broken.
void check(std::string_view input);

}  // namespace h2server::fuzz
