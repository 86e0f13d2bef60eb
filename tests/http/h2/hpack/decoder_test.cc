#include "http/h2/hpack/decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "http/h2/hpack/huffman.h"
#include "http/h2/hpack/integer.h"
#include "http/h2/hpack/lines.h"
#include "http/h2/hpack/static_table.h"

namespace h2server::http::h2::hpack {
namespace decoder_test {

using Verdict = Decoder::Verdict;

struct Block {
  std::string_view bytes;
  Lines lines;
};

// Decodes every prefix of each block with a decoder that has decoded the blocks before it. A prefix
// yields the first lines of its block, and is malformed unless it ends where a line does.
void expect_story(std::uint32_t table_bytes_max, const std::vector<Block>& blocks) {
  for (std::size_t last = 0; last < blocks.size(); ++last) {
    const std::string whole = unhex(blocks[last].bytes);
    std::size_t ends = 0;
    for (std::size_t size = 0; size <= whole.size(); ++size) {
      Decoder decoder(table_bytes_max);
      for (std::size_t i = 0; i < last; ++i) {
        Lines before;
        ASSERT_EQ(decode(decoder, unhex(blocks[i].bytes), before), Verdict::end);
      }
      Lines lines;
      const Verdict verdict = decode(decoder, whole.substr(0, size), lines);
      const Lines& all = blocks[last].lines;
      ASSERT_LE(lines.size(), all.size());
      ASSERT_EQ(lines, Lines(all.begin(), all.begin() + static_cast<long>(lines.size())));
      ends += verdict == Verdict::end ? 1 : 0;
      if (size == whole.size()) {
        ASSERT_EQ(verdict, Verdict::end);
        ASSERT_EQ(lines, all);
      }
    }
    ASSERT_EQ(ends, blocks[last].lines.size() + 1);
  }
}

TEST(HpackDecoder, DecodesSingleRepresentations) {  // RFC 7541, C.2
  expect_story(4096, {{"400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
                       {{"custom-key", "custom-header"}}},
                      {"be", {{"custom-key", "custom-header"}}}});
  expect_story(4096, {{"040c 2f73 616d 706c 652f 7061 7468", {{":path", "/sample/path"}}}});
  expect_story(4096, {{"1008 7061 7373 776f 7264 0673 6563 7265 74", {{"password", "secret"}}}});
  expect_story(4096, {{"82", {{":method", "GET"}}}});
}

const Lines first_request = {
    {":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "www.example.com"}};
const Lines second_request = {{":method", "GET"},
                              {":scheme", "http"},
                              {":path", "/"},
                              {":authority", "www.example.com"},
                              {"cache-control", "no-cache"}};
const Lines third_request = {{":method", "GET"},
                             {":scheme", "https"},
                             {":path", "/index.html"},
                             {":authority", "www.example.com"},
                             {"custom-key", "custom-value"}};

TEST(HpackDecoder, DecodesTheRequestsOfTheRfc) {
  expect_story(4096,  // C.3
               {{"8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", first_request},
                {"8286 84be 5808 6e6f 2d63 6163 6865", second_request},
                {"8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
                 third_request}});
  expect_story(4096,  // C.4
               {{"8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", first_request},
                {"8286 84be 5886 a8eb 1064 9cbf", second_request},
                {"8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", third_request}});
}

Lines response_of_the_rfc(std::string status, std::string date, bool is_last) {
  Lines lines = {{":status", std::move(status)},
                 {"cache-control", "private"},
                 {"date", std::move(date)},
                 {"location", "https://www.example.com"}};
  if (is_last) {
    lines.emplace_back("content-encoding", "gzip");
    lines.emplace_back("set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1");
  }
  return lines;
}

TEST(HpackDecoder, DecodesTheResponsesOfTheRfc) {
  const Lines first = response_of_the_rfc("302", "Mon, 21 Oct 2013 20:13:21 GMT", false);
  const Lines second = response_of_the_rfc("307", "Mon, 21 Oct 2013 20:13:21 GMT", false);
  const Lines third = response_of_the_rfc("200", "Mon, 21 Oct 2013 20:13:22 GMT", true);
  expect_story(256,  // C.5
               {{"4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133"
                 "2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70"
                 "6c65 2e63 6f6d",
                 first},
                {"4803 3330 37c1 c0bf", second},
                {"88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d"
                 "54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049"
                 "5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e"
                 "3d31",
                 third}});
  expect_story(256,  // C.6
               {{"4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6"
                 "2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
                 first},
                {"4883 640e ffc1 c0bf", second},
                {"88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab"
                 "77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f"
                 "9587 3160 65c0 03ed 4ee5 b106 3d50 07",
                 third}});
}

TEST(HpackDecoder, HasTheWholeStaticTable) {
  Decoder decoder;
  for (std::uint32_t i = 1; i <= static_count; ++i) {
    const std::string block(1, static_cast<char>(0x80 | i));
    decoder.begin(block);
    FieldLine line;
    ASSERT_EQ(decoder.next(line), Verdict::line);
    EXPECT_EQ(line.name, static_table[i].name);
    EXPECT_EQ(line.value, static_table[i].value);
    EXPECT_EQ(line.token, token_of(line.name));
    EXPECT_TRUE(line.name_is_valid && line.value_is_valid);
    EXPECT_TRUE(line.is_static && line.name_is_static);
    EXPECT_FALSE(line.never_indexed);
    EXPECT_EQ(decoder.next(line), Verdict::end);
  }
}

TEST(HpackDecoder, RefusesWhatIsMalformed) {
  struct Row {
    std::string_view bytes;
    std::string_view why;
  };
  constexpr Row rows[] = {
      {"80", "index 0"},
      {"be", "index 62 of an empty table"},
      {"7e 0161", "name index 62 of an empty table"},
      {"7f00 0161", "name index 63"},
      {"0f2f 0161", "name index 62, not inserted"},
      {"1f2f 0161", "name index 62, never indexed"},
      {"ff", "the index ends"},
      {"ff80", "the index ends later"},
      {"ff8080808080", "the index does not end"},
      {"ff808080808000", "five bytes may continue an integer"},
      {"ffffffffff0f", "an index beyond 32 bits"},
      {"ff80808010", "2^32 + 127"},
      {"ffffffffffffffffffff", "an endless index"},
      {"40", "no name"},
      {"4001", "the name ends"},
      {"400161", "no value"},
      {"40016101", "the value ends"},
      {"4001617f", "the value's size ends"},
      {"4001617fffffffff0f61", "a value of 4 GiB"},
      {"04", "no value after an indexed name"},
      {"048161", "a Huffman code that ends within a symbol"},
      {"0482ffff", "padding alone"},
      {"0484ffffffff", "EOS in a value"},
      {"0084ffffffff 0161", "EOS in a name"},
      {"00821fff 0161", "too much padding in a name"},
      {"82 20", "a size update after a field"},
      {"20 82 3fe11f", "a size update after a field"},
      {"3fe21f", "4097 bytes"},
      {"3fffffffff0f", "a size beyond 32 bits"},
      {"3f", "the size ends"},
  };
  for (const Row& row : rows) {
    Decoder decoder;
    Lines lines;
    const std::string block = unhex(row.bytes);
    EXPECT_EQ(decode(decoder, block, lines), Verdict::malformed) << row.why;
  }
}

TEST(HpackDecoder, AcceptsWhatIsUnusual) {
  struct Row {
    std::string bytes;
    Lines lines;
  };
  std::string all_f;
  for (int i = 0; i < 127; ++i) all_f += "66";
  const Row rows[] = {
      {"", {}},
      {"20", {}},  // size updates alone
      {"20 3fe11f 20 3fe11f 82", {{":method", "GET"}}},
      {"00 00 00", {{"", ""}}},
      {"00 80 80", {{"", ""}}},  // empty Huffman codes
      {"40 00 00 be", {{"", ""}, {"", ""}}},
      {"40 00 00 7e 00 7e 01 61 be", {{"", ""}, {"", ""}, {"", "a"}, {"", "a"}}},
      {"0f 80808080 00 00", {{"accept-charset", ""}}},  // 15, padded with as many zeros as allowed
      {"04 7f8000" + all_f, {{":path", std::string(127, 'f')}}},
  };
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    Decoder decoder;
    Lines lines;
    EXPECT_EQ(decode(decoder, unhex(rows[i].bytes), lines), Verdict::end) << i;
    EXPECT_EQ(lines, rows[i].lines) << i;
  }
}

TEST(HpackDecoder, TellsWhatIsValid) {  // RFC 9113, 8.2.1
  struct Row {
    std::string_view name;
    std::string_view value;
    bool name_is_valid;
    bool value_is_valid;
  };
  using namespace std::string_view_literals;
  constexpr Row rows[] = {
      {"x-a1!#$%&'*+-.^_`|~", "v", true, true},
      {":x", "a b\tc", true, true},
      {"", "", false, true},
      {":", "", false, true},
      {"x:y", "", false, true},
      {"::x", "", false, true},
      {"X-a", "", false, true},
      {"x a", "", false, true},
      {"x\x7f", "", false, true},
      {"x\xc3\xa4", "\xc3\xa4", false, true},
      {"host", "\x01", true, false},
      {"host", "0123\x7f", true, false},
      {"host",
       "0123456\x7f"
       "89",
       true, false},
      {"host",
       "0123456789\x1f"
       "12345",
       true, false},
      {"host", " v", true, false},
      {"host", "v ", true, false},
      {"host", "\tv", true, false},
      {"host", "v\t", true, false},
      {"host", " ", true, false},
      {"host", "\0"sv, true, false},
      {"host", "0123456789\r0123456789", true, false},
      {"host", "01234\n6789012345", true, false},
      {"host", "0123456789012345\0x"sv, true, false},
      {"host", "01234\t678901234\tx", true, true},
      {"host", "0123456\t\r2345678", true, false},
      {"host", "\x80\x8d\x8a\xff\x80\x8d\x8a\xff\x80\x8d", true, true},
  };
  for (const Row& row : rows) {
    for (const char first : {'\x40', '\x00', '\x10'}) {
      std::vector<char> block(row.name.size() + 4 * row.value.size() + 20);
      char* end = block.data();
      *end++ = first;
      end = encode_integer(end, 0, 7, static_cast<std::uint32_t>(row.name.size()));
      end = std::copy(row.name.begin(), row.name.end(), end);
      end = encode_integer(end, 0x80, 7, static_cast<std::uint32_t>(huffman_size(row.value)));
      end = huffman_encode(end, row.value);
      Decoder decoder;
      FieldLine line;
      const auto expect_line = [&] {
        ASSERT_EQ(decoder.next(line), Verdict::line);
        EXPECT_EQ(line.name, row.name);
        EXPECT_EQ(line.value, row.value);
        EXPECT_EQ(line.token, token_of(row.name));
        EXPECT_EQ(line.name_is_valid, row.name_is_valid) << row.name;
        EXPECT_EQ(line.value_is_valid, row.value_is_valid) << testing::PrintToString(row.value);
        EXPECT_FALSE(line.is_static || line.name_is_static);
      };
      decoder.begin({block.data(), end});
      expect_line();
      EXPECT_EQ(line.never_indexed, first == '\x10');
      EXPECT_EQ(decoder.next(line), Verdict::end);
      if (first != '\x40') continue;
      decoder.begin("\xbe");  // the entry that was inserted
      expect_line();
    }
  }
}

TEST(HpackDecoder, KnowsAStaticName) {
  Decoder decoder;
  FieldLine line;
  decoder.begin("\x44\x02/a\xbe");
  ASSERT_EQ(decoder.next(line), Verdict::line);
  EXPECT_TRUE(line.name_is_static);
  EXPECT_FALSE(line.is_static);
  EXPECT_EQ(line.token, Token::path);
  ASSERT_EQ(decoder.next(line), Verdict::line);
  EXPECT_FALSE(line.is_static || line.name_is_static);
  EXPECT_EQ(line.token, Token::path);
  EXPECT_EQ(line.value, "/a");
}

// RFC 7541, 4.4: "a new entry can reference the name of an entry in the dynamic table that will be
// evicted".
TEST(HpackDecoder, InsertsByTheNameOfAnEntryThatThisEvicts) {
  const std::string name(20, 'n');
  for (const std::size_t size : {1U, 30U, 47U, 48U, 49U, 200U}) {
    Decoder decoder(100);
    Lines lines;
    const std::string block = "\x40\x14" + name + "\x01" + "a";
    ASSERT_EQ(decode(decoder, block, lines), Verdict::end);
    for (int i = 0; i < 5; ++i) {  // at different offsets in the buffer
      lines.clear();
      const std::string value(size, static_cast<char>('a' + i));
      std::string next = "\x7e";
      std::vector<char> length(integer_bytes_max);
      next.append(length.data(), encode_integer(length.data(), 0, 7, static_cast<unsigned>(size)));
      next += value;
      ASSERT_EQ(decode(decoder, next, lines), Verdict::end);
      ASSERT_EQ(lines, Lines({{name, value}}));
      lines.clear();
      // An entry that is larger than the table empties it.
      const bool fits = size + name.size() + 32 <= 100;
      ASSERT_EQ(decode(decoder, "\xbe", lines), fits ? Verdict::end : Verdict::malformed);
      if (!fits) break;
      ASSERT_EQ(lines, Lines({{name, value}}));
    }
  }
}

TEST(HpackDecoder, SizeUpdatesEvict) {
  Decoder decoder;
  Lines lines;
  ASSERT_EQ(decode(decoder, unhex("40016101 62 40016301 64"), lines), Verdict::end);
  lines.clear();
  EXPECT_EQ(decode(decoder, unhex("3f0b be"), lines), Verdict::end);  // 42 bytes: one entry
  EXPECT_EQ(lines, Lines({{"c", "d"}}));
  EXPECT_EQ(decode(decoder, unhex("bf"), lines), Verdict::malformed);
  lines.clear();
  EXPECT_EQ(decode(decoder, unhex("20 3fe11f 82"), lines), Verdict::end);
  EXPECT_EQ(decoder.memory_bytes(), 0U);
  EXPECT_EQ(decode(decoder, unhex("be"), lines), Verdict::malformed);
}

TEST(HpackDecoder, ALargerTableIsThePeersToAnnounce) {
  Decoder decoder(65536);
  Lines lines;
  ASSERT_EQ(decode(decoder, unhex("40016101 62"), lines), Verdict::end);
  std::string block = "\x40\x01"
                      "a\x7f\x81\x1f" +
                      std::string(4096, 'v');
  ASSERT_EQ(decode(decoder, block, lines), Verdict::end);  // too large for a table of 4096 bytes
  EXPECT_EQ(decode(decoder, "\xbe", lines), Verdict::malformed);
  block = unhex("3fe1ff03") + block + "\xbe";  // table size 65536
  lines.clear();
  ASSERT_EQ(decode(decoder, block, lines), Verdict::end);
  EXPECT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines.back().second.size(), 4096U);
  EXPECT_EQ(decode(decoder, unhex("3fe2ff03"), lines), Verdict::malformed);
}

TEST(HpackDecoder, HoldsLittleMemory) {
  Decoder decoder;
  EXPECT_EQ(decoder.memory_bytes(), 0U);
  Lines lines;
  std::string block = "\x82\x87\x04\x03/ab";
  ASSERT_EQ(decode(decoder, block, lines), Verdict::end);
  EXPECT_EQ(decoder.memory_bytes(), 0U);
  block.clear();
  for (int i = 0; i < 8; ++i)
    block += "\x7a\x15"
             "a value of 21 letters";  // indexed name: user-agent
  ASSERT_EQ(decode(decoder, block, lines), Verdict::end);
  EXPECT_EQ(lines.size(), 11U);
  EXPECT_LE(sizeof(Decoder) + decoder.memory_bytes(), 500U);
}

}  // namespace decoder_test
}  // namespace h2server::http::h2::hpack
