// The chunked coding as RFC 9112, 7.1 writes it down, read from a buffer that holds all of it: what
// the decoder, which reads byte by byte, is compared with.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace h2server::fuzz {

struct ChunkedReference {
  bool complete = false;     // false if the body is malformed or cut short
  std::size_t size = 0;      // bytes up to the end of the last empty line
  std::size_t overhead = 0;  // bytes of the longest chunk line, or of all trailers: no limit here
  std::size_t trailer_lines = 0;  // no limit either
  std::string content;
  std::string trailers;  // those that may be some: "name=value\n", names in lower case
};

ChunkedReference read_chunked(std::string_view bytes);

}  // namespace h2server::fuzz
