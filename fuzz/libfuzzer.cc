// libFuzzer entry point of a fuzzer.
#include <cstddef>
#include <cstdint>

#include "fuzzer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  h2server::fuzz::check({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
