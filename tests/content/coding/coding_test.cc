#include "content/coding/coding.h"

#include "content/decode.h"

namespace h2server::content {
namespace coding_test {

using tests::decode;
using tests::Decoded;
using tests::noise;
using tests::words;

class Codings : public testing::TestWithParam<Coding> {};

TEST_P(Codings, DecodeToWhatWasEncoded) {
  for (const std::size_t size : {0, 1, 100, 1023, 1024, 1025, 16'384, 65'536, 65'537, 300'000}) {
    for (const std::string& text : {words(size), noise(size), std::string(size, '\0')}) {
      const Decoded decoded = decode(GetParam(), compress(text, GetParam()));
      EXPECT_TRUE(decoded.ended) << size;
      EXPECT_TRUE(decoded.text == text) << size;
    }
  }
}

TEST_P(Codings, MakeTextSmaller) {
  const std::string text = words(100'000);
  EXPECT_LT(compress(text, GetParam()).size(), text.size() / 2);
  EXPECT_LT(compress(std::string(1 << 20, 'x'), GetParam()).size(), 2000U);
}

// What a decoder gets after a flush is all that was written before it.
TEST_P(Codings, FlushEachPiece) {
  const std::string text = words(3000);
  for (const std::size_t piece : {1, 7, 100, 2999}) {
    const auto encoder = make_encoder(GetParam());
    std::string out;
    for (std::size_t done = 0; done < text.size(); done += piece) {
      encoder->encode(std::string_view(text).substr(done, piece), Encoder::Until::flush, out);
      if (done % 10 != 0 && piece < 100) continue;  // decodes from the beginning
      const Decoded decoded = decode(GetParam(), out);
      ASSERT_FALSE(decoded.ended);
      ASSERT_EQ(decoded.text, text.substr(0, done + piece));
    }
    encoder->encode("", Encoder::Until::end, out);
    const Decoded decoded = decode(GetParam(), out);
    EXPECT_TRUE(decoded.ended);
    EXPECT_EQ(decoded.text, text);
  }
}

TEST_P(Codings, TakePiecesWithoutFlushes) {
  const std::string text = words(400'000) + noise(50'000);
  for (const std::size_t piece : {3, 5000, 70'000}) {
    const auto encoder = make_encoder(GetParam());
    std::string out;
    for (std::size_t done = 0; done < text.size(); done += piece) {
      encoder->encode(std::string_view(text).substr(done, piece), Encoder::Until::later, out);
    }
    encoder->encode("", Encoder::Until::end, out);
    const Decoded decoded = decode(GetParam(), out);
    EXPECT_TRUE(decoded.ended);
    EXPECT_TRUE(decoded.text == text) << piece;
  }
}

// A source may yield more or less than it has declared.
TEST_P(Codings, TakeTheSizeAsAHint) {
  const std::string text = words(200'000);
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{10}, std::uint64_t{1} << 40}) {
    const auto encoder = make_encoder(GetParam(), size);
    std::string out;
    encoder->encode(text, Encoder::Until::later, out);
    encoder->encode("", Encoder::Until::end, out);
    EXPECT_TRUE(decode(GetParam(), out).text == text) << size;
  }
}

// Clients need not accept windows above 8 MiB (RFC 9659); 256 KiB also bounds the server's memory.
TEST(ZstdCoding, HasASmallWindow) {
  const std::string text = words(1 << 20);
  const auto encoder = make_encoder(Coding::zstd);
  std::string out;
  encoder->encode(text, Encoder::Until::flush, out);
  encoder->encode("", Encoder::Until::end, out);
  // RFC 8878, 3.1.1.1: no dictionary, not a single segment; the window's exponent follows.
  ASSERT_EQ(static_cast<unsigned char>(out[4]) & 0x23, 0);
  EXPECT_LE(10 + (static_cast<unsigned char>(out[5]) >> 3), 18);
}

INSTANTIATE_TEST_SUITE_P(All, Codings, testing::ValuesIn(codings),
                         [](const auto& one) { return std::string(coding_name(one.param)); });

TEST(CompressibleTypes, AreTextAndTheLike) {
  for (const std::string_view type : {"text/html",
                                      "text/html; charset=utf-8",
                                      "TEXT/CSS",
                                      "Text/HTML;Charset=\"utf-8\"",
                                      "text/html; charset=\"utf-8\"",
                                      "text/javascript",
                                      "text/csv",
                                      "application/json",
                                      "application/json;charset=utf-8",
                                      "application/problem+json",
                                      "application/ld+json",
                                      "application/geo+json",
                                      "application/x-ndjson",
                                      "application/manifest+json",
                                      "application/javascript",
                                      "application/xml",
                                      "application/atom+xml",
                                      "application/xhtml+xml",
                                      "image/svg+xml",
                                      "IMAGE/SVG+XML",
                                      "application/wasm",
                                      "font/ttf",
                                      "font/otf",
                                      "application/yaml",
                                      "model/gltf+json",
                                      "application/vnd.ms-fontobject",
                                      "application/x-tar"}) {
    EXPECT_TRUE(is_compressible(type)) << type;
  }
}

TEST(CompressibleTypes, AreNotWhatIsCompressedAlready) {
  for (const std::string_view type : {"",
                                      "/",
                                      "text",
                                      "text/event-stream",
                                      "text/event-stream; charset=utf-8",
                                      "image/png",
                                      "image/jpeg",
                                      "image/webp",
                                      "image/avif",
                                      "video/mp4",
                                      "audio/mpeg",
                                      "font/woff",
                                      "font/woff2",
                                      "application/zip",
                                      "application/gzip",
                                      "application/zstd",
                                      "application/x-brotli",
                                      "application/pdf",
                                      "application/octet-stream",
                                      "application/grpc",
                                      "application/epub+zip",
                                      "multipart/form-data; boundary=x",
                                      "application/jsonx",
                                      "x/application/json",
                                      "application/x-7z-compressed",
                                      "xtext/html"}) {
    EXPECT_FALSE(is_compressible(type)) << type;
  }
}

}  // namespace coding_test
}  // namespace h2server::content
