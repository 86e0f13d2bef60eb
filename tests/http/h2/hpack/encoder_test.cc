#include "http/h2/hpack/encoder.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "http/h2/hpack/lines.h"

namespace h2server::http::h2::hpack {
namespace encoder_test {

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

// --- groups -----------------------------------------------------------------------------------

std::string encode(Encoder& encoder, const Group& group) {
  std::vector<char> out(Encoder::block_head_bytes_max + group.literals.size());
  char* const begin = encoder.begin_block(out.data());
  return {out.data(), encoder.encode(begin, group)};
}

Group group(std::uint64_t id, std::string_view etag = "\"a\"") {
  return group_of(id, {{"content-length", "7"}, {"etag", etag}});
}

constexpr std::string_view literals = "0f0d01370f1303226122";
constexpr std::string_view insertions = "5c01376203226122";

TEST(HpackEncoder, EncodesGroupsWithoutATable) {
  EXPECT_EQ(hex(group(1).literals), literals);
  Encoder encoder;
  encoder.set_table_bytes_max(0);
  EXPECT_EQ(hex(encode(encoder, group(1))), "20" + std::string(literals));
  EXPECT_EQ(hex(encode(encoder, group(1))), literals);
  EXPECT_EQ(encoder.memory_bytes(), 0U);
}

TEST(HpackEncoder, InsertsAGroupOnce) {
  Encoder encoder;
  const std::uint64_t version = encoder.version();
  EXPECT_EQ(hex(encode(encoder, group(1))), insertions);
  EXPECT_NE(encoder.version(), version);
  EXPECT_EQ(hex(encode(encoder, group(1))), "bfbe");
  EXPECT_EQ(hex(encode(encoder, group(2))), insertions);
  EXPECT_EQ(hex(encode(encoder, group(1))), "c1c0");
  EXPECT_EQ(hex(encode(encoder, group(2))), "bfbe");
  EXPECT_EQ(hex(encode(encoder, {{"etag", "\"a\""}})), "be") << "a field is found by itself, too";
}

TEST(HpackEncoder, InsertsFewGroups) {
  Encoder encoder;
  for (std::uint64_t id = 1; id <= 16; ++id) encode(encoder, group(id));
  const std::uint64_t version = encoder.version();
  for (std::uint64_t id = 17; id <= 50; ++id) {
    EXPECT_EQ(hex(encode(encoder, group(id))), literals) << id;
  }
  EXPECT_EQ(encoder.version(), version);
  encoder.set_table_bytes_max(511);  // leaves five groups, and the place of 16, 32, ...
  EXPECT_EQ(hex(encode(encoder, group(15))), "3fe003c1c0");
  EXPECT_EQ(hex(encode(encoder, group(1))), literals);
  EXPECT_EQ(hex(encode(encoder, group(32))), literals);
  EXPECT_EQ(hex(encode(encoder, group(16))), "bfbe");
}

TEST(HpackEncoder, InsertsAGroupInTheEvictedOnesPlace) {
  Encoder encoder;
  encode(encoder, group(1));
  encode(encoder, group(17));
  for (int i = 0; i < 4096 / 41; ++i) encode(encoder, {{"date", std::to_string(10'000 + i)}});
  EXPECT_EQ(hex(encode(encoder, group(17))), insertions);
  EXPECT_EQ(hex(encode(encoder, group(17))), "bfbe");
  EXPECT_EQ(hex(encode(encoder, group(1))), literals);
}

// Groups, single fields and size updates in any order.
TEST(HpackEncoder, SendsGroupsThatAreUnderstood) {
  Encoder encoder;
  Decoder decoder;
  Random random(3);
  for (int i = 0; i < 20'000; ++i) {
    if (random.below(100) == 0) {
      encoder.set_table_bytes_max(static_cast<std::uint32_t>(random.below(4200)));
    }
    const std::size_t which = random.below(40) + 1;
    const std::string etag(which, 'e');
    const Lines others = {{"date", std::to_string(i / 100)}, {"x", random.text(1, "abcdefgh")}};
    std::string block = encode(encoder, others);
    block += encode(encoder, group(which, etag));
    Lines expected = others;
    expected.emplace_back("content-length", "7");
    expected.emplace_back("etag", etag);
    Lines decoded;
    ASSERT_EQ(decode(decoder, block, decoded), Verdict::end);
    ASSERT_EQ(decoded, expected);
  }
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

}  // namespace encoder_test
}  // namespace h2server::http::h2::hpack
