// What a fuzzer is: one function, defined in NAME_fuzzer.cc. Two programs are made of it:
//   libfuzzer.cc  NAME_fuzzer, which looks for inputs by itself; built with H2SERVER_FUZZ
//   replay.cc     fuzz_NAME_replay, which is given files and changes them; the ctest entry
//   fuzz.NAME
#pragma once

#include <string_view>

namespace h2server::fuzz {

// Any bytes are an input. Aborts where an invariant is broken.
void check(std::string_view input);

}  // namespace h2server::fuzz
