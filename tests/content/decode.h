// For tests of content codings: decoders, which the library has not.
#pragma once

#include <brotli/decode.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "content/coding/coding.h"

namespace h2server::tests {

struct Decoded {
  std::string text;
  bool ended = false;  // the coding's end was there, and nothing behind it
};

inline Decoded decode_gzip(std::string_view encoded) {
  Decoded decoded;
  z_stream stream{};
  EXPECT_EQ(::inflateInit2(&stream, 16 + 15), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(encoded.data()));
  stream.avail_in = static_cast<uInt>(encoded.size());
  int result = Z_OK;
  while (result == Z_OK) {
    std::array<char, 4096> room;
    stream.next_out = reinterpret_cast<Bytef*>(room.data());
    stream.avail_out = room.size();
    result = ::inflate(&stream, Z_SYNC_FLUSH);
    decoded.text.append(room.data(), room.size() - stream.avail_out);
  }
  EXPECT_TRUE(result == Z_STREAM_END || result == Z_BUF_ERROR) << result;
  decoded.ended = result == Z_STREAM_END && stream.avail_in == 0;
  ::inflateEnd(&stream);
  return decoded;
}

inline Decoded decode_br(std::string_view encoded) {
  Decoded decoded;
  const std::unique_ptr<BrotliDecoderState, decltype(&::BrotliDecoderDestroyInstance)> state(
      ::BrotliDecoderCreateInstance(nullptr, nullptr, nullptr), ::BrotliDecoderDestroyInstance);
  const auto* next = reinterpret_cast<const std::uint8_t*>(encoded.data());
  std::size_t left = encoded.size();
  BrotliDecoderResult result = BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT;
  while (result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT ||
         ::BrotliDecoderHasMoreOutput(state.get()) == BROTLI_TRUE) {
    std::array<std::uint8_t, 4096> room;
    std::uint8_t* out = room.data();
    std::size_t space = room.size();
    result = ::BrotliDecoderDecompressStream(state.get(), &left, &next, &space, &out, nullptr);
    decoded.text.append(reinterpret_cast<const char*>(room.data()), room.size() - space);
  }
  EXPECT_NE(result, BROTLI_DECODER_RESULT_ERROR);
  decoded.ended = result == BROTLI_DECODER_RESULT_SUCCESS && left == 0;
  return decoded;
}

inline Decoded decode_zstd(std::string_view encoded) {
  Decoded decoded;
  const std::unique_ptr<ZSTD_DCtx, decltype(&::ZSTD_freeDCtx)> context(::ZSTD_createDCtx(),
                                                                       ::ZSTD_freeDCtx);
  ZSTD_inBuffer in{encoded.data(), encoded.size(), 0};
  std::size_t wanted = 1;
  for (bool again = true; again && wanted != 0;) {
    std::array<char, 4096> room;
    ZSTD_outBuffer out{room.data(), room.size(), 0};
    wanted = ::ZSTD_decompressStream(context.get(), &out, &in);
    if (::ZSTD_isError(wanted) != 0) {
      ADD_FAILURE() << ::ZSTD_getErrorName(wanted);
      break;
    }
    decoded.text.append(room.data(), out.pos);
    again = out.pos == room.size() || in.pos < in.size;
  }
  decoded.ended = wanted == 0 && in.pos == in.size;
  return decoded;
}

inline Decoded decode(content::Coding coding, std::string_view encoded) {
  switch (coding) {
    case content::Coding::zstd:
      return decode_zstd(encoded);
    case content::Coding::br:
      return decode_br(encoded);
    case content::Coding::gzip:
      return decode_gzip(encoded);
  }
  return {};
}

// Returns the text of a complete body in the coding of that name; "identity" and "-" for none.
inline std::string decode_body(std::string_view coding, std::string_view body) {
  for (const content::Coding one : content::codings) {
    if (coding != content::coding_name(one)) continue;
    const Decoded decoded = decode(one, body);
    EXPECT_TRUE(decoded.ended) << coding;
    return decoded.text;
  }
  EXPECT_TRUE(coding == "-" || coding == "identity") << coding;
  return std::string(body);
}

// Text of `size` bytes that shrinks to about a third.
inline std::string words(std::size_t size) {
  std::string text;
  std::uint32_t state = 1;
  while (text.size() < size) {
    state = state * 1'664'525 + 1'013'904'223;
    text.append("word")
        .append(std::to_string(state >> 20))
        .append(text.size() % 7 == 0 ? "\n" : " ");
  }
  text.resize(size);
  return text;
}

// Bytes that no coding makes smaller.
inline std::string noise(std::size_t size) {
  std::string bytes;
  std::uint64_t state = 88172645463325252U;
  while (bytes.size() < size) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    bytes.push_back(static_cast<char>(state >> 32));
  }
  return bytes;
}

}  // namespace h2server::tests
