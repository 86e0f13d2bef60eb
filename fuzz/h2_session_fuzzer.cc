// libFuzzer entry point: both HTTP/2 sessions must agree on any input.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "h2_compare.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string difference =
      h2server::fuzz::compare_h2({reinterpret_cast<const char*>(bytes), size});
  if (difference.empty()) return 0;
  std::fprintf(stderr, "The sessions differ:\n%s", difference.c_str());
  std::abort();
}
