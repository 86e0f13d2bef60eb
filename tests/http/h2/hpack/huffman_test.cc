#include "http/h2/hpack/huffman.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "http/h2/hpack/lines.h"

namespace h2server::http::h2::hpack {
namespace huffman_test {

std::string pack(std::string_view text) {
  std::vector<char> out(huffman_size(text));
  EXPECT_EQ(huffman_encode(out.data(), text), out.data() + out.size());
  return {out.begin(), out.end()};
}

std::optional<std::string> unpack(std::string_view code) {
  const std::vector<char> exact(code.begin(), code.end());
  std::vector<char> out(huffman_room(code.size()));
  const char* const end = huffman_decode(out.data(), {exact.data(), exact.size()});
  if (end == nullptr) return std::nullopt;
  return std::string(out.data(), static_cast<std::size_t>(end - out.data()));
}

TEST(Huffman, EncodesTheStringsOfTheRfc) {
  struct Row {
    std::string_view text;
    std::string_view code;
  };
  constexpr Row rows[] = {
      {"www.example.com", "f1e3c2e5f23a6ba0ab90f4ff"},
      {"no-cache", "a8eb10649cbf"},
      {"custom-key", "25a849e95ba97d7f"},
      {"custom-value", "25a849e95bb8e8b4bf"},
      {"302", "6402"},
      {"private", "aec3771a4b"},
      {"Mon, 21 Oct 2013 20:13:21 GMT", "d07abe941054d444a8200595040b8166e082a62d1bff"},
      {"https://www.example.com", "9d29ad171863c78f0b97c8e9ae82ae43d3"},
      {"", ""},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(hex(pack(row.text)), row.code);
    EXPECT_EQ(unpack(unhex(row.code)), row.text);
  }
}

TEST(Huffman, RoundTripsEachSymbolAndEachPair) {
  for (int a = 0; a < 256; ++a) {
    const std::string one(1, static_cast<char>(a));
    EXPECT_EQ(unpack(pack(one)), one);
    EXPECT_EQ(unpack(pack(std::string(9, one[0]))), std::string(9, one[0]));
    for (int b = 0; b < 256; ++b) {
      const std::string two = one + static_cast<char>(b);
      ASSERT_EQ(unpack(pack(two)), two);
    }
  }
}

TEST(Huffman, RoundTripsRandomText) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  Random random(1);
  for (const std::string_view letters : {std::string_view(all), std::string_view("aeiost012/-.%"),
                                         std::string_view("abcXYZ<>|\\\n")}) {
    for (int i = 0; i < 3000; ++i) {
      const std::string text = random.text(random.below(60), letters);
      ASSERT_EQ(unpack(pack(text)), text);
    }
  }
}

// RFC 7541, 5.2.
TEST(Huffman, RefusesBadPaddingAndEos) {
  constexpr std::string_view rows[] = {
      "ff",                      // padding alone, eight bits of it
      "1fff",                    // 'a' and eleven bits of padding
      "18",                      // 'a', padded with zeros
      "1e",                      // 'a', the last bit of padding is 0
      "1ffe",                    // 'a', then an incomplete symbol
      "f8ff",                    // '&' and eight bits of padding
      "3fffffff",                // 'o' and 27 bits of padding
      "ffffffff",                // EOS
      "fffffffc",                // EOS, then zeros
      "1fffffffff",              // 'a', EOS
      "1c6490b2cd39bffffffffc",  // EOS beyond the first eight bytes
      "ffffffff1c6490b2cd39bf",  // EOS within them
      "a8eb10649cbfff",          // a whole byte of padding
  };
  for (const std::string_view row : rows) EXPECT_EQ(unpack(unhex(row)), std::nullopt) << row;
}

// Compares with a decoder that reads bit by bit. Its codes come from the encoder.
TEST(Huffman, DecodesRandomBytesLikeTheDefinition) {
  struct Code {
    unsigned bits;
    std::uint64_t code;
  };
  std::vector<Code> codes;
  for (int symbol = 0; symbol < 256; ++symbol) {
    // Eight copies of a symbol fill as many whole bytes as one has bits.
    const std::string eight = pack(std::string(8, static_cast<char>(symbol)));
    std::uint64_t code = 0;
    for (std::size_t i = 0; i < eight.size() && i < 4; ++i) {
      code = code << 8 | static_cast<unsigned char>(eight[i]);
    }
    const auto bits = static_cast<unsigned>(eight.size());
    codes.push_back({bits, code >> (bits > 4 ? 32 - bits : 0)});
  }
  const auto slow = [&codes](std::string_view bytes) -> std::optional<std::string> {
    std::string text;
    std::uint64_t code = 0;
    unsigned bits = 0;
    bool ones = true;
    for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
      const unsigned bit = static_cast<unsigned char>(bytes[i / 8]) >> (7 - i % 8) & 1;
      code = code << 1 | bit;
      ones = ones && bit == 1;
      if (++bits > 29 && ones) return std::nullopt;
      for (std::size_t symbol = 0; symbol < 256; ++symbol) {
        if (codes[symbol].bits != bits || codes[symbol].code != code) continue;
        text += static_cast<char>(symbol);
        code = bits = 0;
        ones = true;
        break;
      }
    }
    return bits < 8 && ones ? std::optional(text) : std::nullopt;
  };
  Random random(2);
  int good = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes;
    const std::size_t size = random.below(20);
    while (bytes.size() < size) {
      const std::size_t kind = random.below(8);
      bytes += static_cast<char>(kind == 0 ? 255 : random.below(256));
    }
    ASSERT_EQ(unpack(bytes), slow(bytes)) << hex(bytes);
    good += unpack(bytes) ? 1 : 0;
  }
  EXPECT_GT(good, 1000);
}

}  // namespace huffman_test
}  // namespace h2server::http::h2::hpack
