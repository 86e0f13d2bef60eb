// Helpers for HPACK tests: bytes in the notation of RFC 7541, appendix C, and field lists that own
// their text.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/fields/syntax.h"
#include "http/h2/hpack/decoder.h"
#include "http/h2/hpack/encoder.h"

namespace h2server::http::h2::hpack {

using Lines = std::vector<std::pair<std::string, std::string>>;

// "8286 84" → three bytes.
inline std::string unhex(std::string_view text) {
  std::string bytes;
  int high = -1;
  for (const char c : text) {
    const int digit = hex_digit(c);
    if (digit < 0) continue;
    if (high >= 0) bytes += static_cast<char>(high * 16 + digit);
    high = high >= 0 ? -1 : digit;
  }
  return bytes;
}

inline std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    text += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    text += "0123456789abcdef"[static_cast<unsigned char>(c) & 0xf];
  }
  return text;
}

// Appends the lines of a block, up to a malformed one. Copies the block to a buffer of its exact
// size, so that a sanitizer detects overreads.
inline Decoder::Verdict decode(Decoder& decoder, std::string_view block, Lines& lines) {
  const std::vector<char> bytes(block.begin(), block.end());
  decoder.begin({bytes.data(), bytes.size()});
  FieldLine line;
  auto verdict = decoder.next(line);
  for (; verdict == Decoder::Verdict::line; verdict = decoder.next(line)) {
    lines.emplace_back(line.name, line.value);
  }
  EXPECT_EQ(decoder.next(line), verdict);  // the verdict stays
  return verdict;
}

inline std::string encode(Encoder& encoder, const Lines& lines) {
  std::size_t room = Encoder::block_head_bytes_max;
  for (const auto& [name, value] : lines) room += Encoder::bound({name, value});
  std::vector<char> out(room);
  char* end = encoder.begin_block(out.data());
  for (const auto& [name, value] : lines) end = encoder.encode(end, name, value);
  return {out.data(), end};
}

// Pseudo-random numbers, the same in each run and with each standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t bound) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state_ >> 33) % bound;
  }
  std::string text(std::size_t size, std::string_view letters) {
    std::string made;
    while (made.size() < size) made += letters[below(letters.size())];
    return made;
  }

 private:
  std::uint64_t state_;
};

}  // namespace h2server::http::h2::hpack
