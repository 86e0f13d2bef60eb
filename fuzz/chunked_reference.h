// Reference decoder of the chunked coding (RFC 9112, 7.1). Works on a buffer that holds the whole
// body. The fuzzers compare the incremental decoder with it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace h2server::fuzz {

struct ChunkedReference {
  bool complete = false;          // false if the body is malformed or cut short
  std::size_t size = 0;           // bytes up to the end of the last empty line
  std::size_t overhead = 0;       // bytes of the longest chunk line or of all trailers; not limited
  std::size_t trailer_lines = 0;  // not limited
  std::string content;
  std::string trailers;  // permitted ones only: "name=value\n", names in lower case
};

ChunkedReference read_chunked(std::string_view bytes);

}  // namespace h2server::fuzz
