// Header blocks of SPDY/3.1 (2.6.10): names with values, compressed with zlib. A connection has one
// compressor and one decompressor; every block passes through them, in the order of the frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/message.h"

namespace h2server::lab::spdy {

// Replaces `block` by the fields' block. Fields with the same name become one with several values.
// Names are in lower case and not empty.
void write_block(std::span<const Field> fields, std::string& block);

// Replaces `pairs` by what a decompressed block holds. The views point into it. A value may consist
// of several, see split_value(). Returns false if the lengths contradict each other, a name is
// empty or a name comes twice.
[[nodiscard]] bool read_block(std::string_view block, std::vector<Field>& pairs);

// Calls `each` with the values that NUL separates. Returns false, maybe after some calls, if one of
// several is empty.
template <class Each>
[[nodiscard]] bool split_value(std::string_view value, Each each) {
  if (value.find('\0') == value.npos) {
    each(value);
    return true;
  }
  for (;;) {
    const std::size_t end = value.find('\0');
    const std::string_view one = value.substr(0, end);
    if (one.empty()) return false;
    each(one);
    if (end == value.npos) return true;
    value.remove_prefix(end + 1);
  }
}

class Compressor {
 public:
  Compressor();
  ~Compressor();

  // Returns the compressed block. Valid until the next call of any compressor on this thread.
  [[nodiscard]] std::string_view compress(std::string_view block);

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

class Decompressor {
 public:
  Decompressor();
  ~Decompressor();

  // Once it is not `good`, no further block can be read.
  enum class Verdict : std::uint8_t { good, malformed, too_large };
  // Replaces `block` by the decompressed bytes, at most `bytes_max`.
  [[nodiscard]] Verdict decompress(std::string_view compressed, std::size_t bytes_max,
                                   std::string& block);

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace h2server::lab::spdy
