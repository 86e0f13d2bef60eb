#include "http/h2/hpack/encoder.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "http/h2/hpack/lines.h"

namespace h2server::http::h2::hpack {
namespace {

using Verdict = Decoder::Verdict;

struct Step {
  Lines lines;
  std::string_view bytes;
};

void expect_story(Encoder& encoder, const std::vector<Step>& steps) {
  for (const Step& step : steps) EXPECT_EQ(hex(encode(encoder, step.lines)), step.bytes);
}

TEST(HpackEncoder, EncodesTheRequestsOfTheRfc) {  // C.4
  Encoder encoder;
  const Lines first = {
      {":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "www.example.com"}};
  Lines second = first;
  second.emplace_back("cache-control", "no-cache");
  const Lines third = {{":method", "GET"},
                       {":scheme", "https"},
                       {":path", "/index.html"},
                       {":authority", "www.example.com"},
                       {"custom-key", "custom-value"}};
  expect_story(encoder, {{first, "828684418cf1e3c2e5f23a6ba0ab90f4ff"},
                         {second, "828684be5886a8eb10649cbf"},
                         {third, "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf"}});
}

TEST(HpackEncoder, EncodesAResponseOfTheRfc) {  // C.6, but location is not inserted at first
  Encoder encoder;
  const Lines lines = {{":status", "302"},
                       {"cache-control", "private"},
                       {"date", "Mon, 21 Oct 2013 20:13:21 GMT"},
                       {"location", "https://www.example.com"}};
  expect_story(encoder,
               {{lines, "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff"
                        "0f1f919d29ad171863c78f0b97c8e9ae82ae43d3"},
                {lines, "c0bfbe6e919d29ad171863c78f0b97c8e9ae82ae43d3"},
                {lines, "c1c0bfbe"},
                {lines, "c1c0bfbe"}});
}

TEST(HpackEncoder, NeverIndexesCredentials) {
  Encoder encoder;
  const Lines lines = {
      {"authorization", "a"}, {"proxy-authorization", "b"}, {"cookie", "c"}, {"set-cookie", "d"}};
  for (int i = 0; i < 3; ++i) {
    Lines decoded;
    const std::string block = encode(encoder, lines);
    Decoder decoder;
    decoder.begin(block);
    FieldLine line;
    while (decoder.next(line) == Verdict::line) {
      EXPECT_TRUE(line.never_indexed);
      EXPECT_TRUE(line.name_is_static);
      decoded.emplace_back(line.name, line.value);
    }
    EXPECT_EQ(decoded, lines);
  }
  EXPECT_EQ(encoder.memory_bytes(), 0U);
}

TEST(HpackEncoder, InsertsWhatTendsToChangeWhenItComesAgain) {
  for (const std::string name : {"content-length", "etag", "last-modified", "content-range",
                                 "location", "age", "content-disposition"}) {
    Encoder encoder;
    const std::uint64_t version = encoder.version();
    EXPECT_GT(encode(encoder, {{name, "12345"}}).size(), 2U);
    EXPECT_EQ(encoder.version(), version);
    EXPECT_GT(encode(encoder, {{name, "67890"}}).size(), 2U);
    EXPECT_EQ(encoder.version(), version);
    EXPECT_GT(encode(encoder, {{name, "12345"}}).size(), 2U);
    EXPECT_NE(encoder.version(), version);
    EXPECT_EQ(hex(encode(encoder, {{name, "12345"}})), "be");
    for (int i = 0; i < 16; ++i) encode(encoder, {{name, std::to_string(i)}});
    const std::uint64_t later = encoder.version();
    encode(encoder, {{name, "67890"}});  // evicted from the hashes seen
    EXPECT_EQ(encoder.version(), later);
  }
}

TEST(HpackEncoder, DoesNotInsertWhatIsLarge) {
  Encoder encoder;
  const std::uint64_t version = encoder.version();
  const Lines large = {{"x-large", std::string(1024 - 32 - 7 + 1, 'v')}};
  encode(encoder, large);
  EXPECT_EQ(encoder.version(), version);
  const Lines small = {{"x-large", std::string(1024 - 32 - 7, 'v')}};
  encode(encoder, small);
  EXPECT_NE(encoder.version(), version);
  EXPECT_EQ(hex(encode(encoder, small)), "be");
}

TEST(HpackEncoder, AnnouncesSizes) {  // RFC 7541, 4.2
  Encoder encoder;
  const Lines lines = {{":status", "200"}};
  encoder.set_table_bytes_max(65536);  // the encoder uses 4096 of it, as before
  EXPECT_EQ(hex(encode(encoder, lines)), "88");
  encoder.set_table_bytes_max(100);
  EXPECT_EQ(hex(encode(encoder, lines)), "3f4588");
  encoder.set_table_bytes_max(200);
  EXPECT_EQ(hex(encode(encoder, lines)), "3fa90188");
  encoder.set_table_bytes_max(0);
  encoder.set_table_bytes_max(50);
  encoder.set_table_bytes_max(4096);
  EXPECT_EQ(hex(encode(encoder, lines)), "203fe11f88");
  EXPECT_EQ(hex(encode(encoder, lines)), "88");
  encoder.set_table_bytes_max(3000);
  encoder.set_table_bytes_max(4096);
  EXPECT_EQ(hex(encode(encoder, lines)), "3f9917"
                                         "3fe11f88");
}

TEST(HpackEncoder, WorksWithoutATable) {
  Encoder encoder;
  encoder.set_table_bytes_max(0);
  const Lines lines = {{":status", "200"}, {"x", "1"}, {"server", "s"}};
  EXPECT_EQ(hex(encode(encoder, lines)), "2088000178"
                                         "01310f270173");
  EXPECT_EQ(hex(encode(encoder, lines)), "88000178"
                                         "01310f270173");
  EXPECT_EQ(encoder.memory_bytes(), 0U);
}

TEST(HpackEncoder, VersionChangesWithEachMeaning) {
  Encoder encoder;
  const Lines lines = {{":status", "200"}, {"x", "1"}};
  std::uint64_t version = encoder.version();
  const auto changed = [&] { return std::exchange(version, encoder.version()) != version; };
  encode(encoder, lines);
  EXPECT_TRUE(changed());
  const std::string block = encode(encoder, lines);
  EXPECT_FALSE(changed());
  EXPECT_EQ(encode(encoder, lines), block);
  encode(encoder, {{"y", "2"}});
  EXPECT_TRUE(changed());
  EXPECT_NE(encode(encoder, lines), block);
  EXPECT_FALSE(changed());
  encoder.set_table_bytes_max(4096);
  EXPECT_FALSE(changed());
  encoder.set_table_bytes_max(2048);
  EXPECT_TRUE(changed());
  encode(encoder, lines);
  EXPECT_TRUE(changed());  // this block contains the size update
  encode(encoder, lines);
  EXPECT_FALSE(changed());
}

// Values of one size with equal ends, which have the same hash.
TEST(HpackEncoder, TellsApartWhatHashesAlike) {
  Encoder encoder;
  Decoder decoder;
  for (int i = 0; i < 400; ++i) {
    Lines lines;
    for (int k = 0; k < 4; ++k) {
      lines.emplace_back("x-field",
                         "01234567 " + std::to_string(1000 + (i * 7 + k) % 10) + " 76543210");
    }
    Lines decoded;
    const std::string block = encode(encoder, lines);
    ASSERT_EQ(decode(decoder, block, decoded), Verdict::end);
    ASSERT_EQ(decoded, lines);
    if (i > 10) {
      ASSERT_EQ(block.size(), 4U);
    }
  }
}

// 3000 dates pass through the table, beside lines that stay.
TEST(HpackEncoder, HoldsNoMoreThanTheTable) {
  Encoder encoder;
  Decoder decoder;
  std::size_t warm = 0;
  for (int i = 0; i < 3000; ++i) {
    const Lines lines = {{":status", "200"},
                         {"server", "h2server"},
                         {"date", "Sat, 21 Nov 2026 20:" + std::to_string(10000 + i)},
                         {"content-type", "text/html; charset=utf-8"}};
    Lines decoded;
    ASSERT_EQ(decode(decoder, encode(encoder, lines), decoded), Verdict::end);
    ASSERT_EQ(decoded, lines);
    if (i == 1000) warm = encoder.memory_bytes();
  }
  EXPECT_EQ(encoder.memory_bytes(), warm);
  EXPECT_LE(warm, 4096U + 128 * 8);
  EXPECT_LE(sizeof(Encoder), 256U);
}

}  // namespace
}  // namespace h2server::http::h2::hpack
