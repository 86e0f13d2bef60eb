#include "spdy/frame.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "spdy/dictionary.h"
#include "spdy/header_block.h"
#include "spdy_host.h"

namespace h2server::lab::spdy {
namespace spdy_frames_test {

std::string bytes_of(std::string_view hexadecimal) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hexadecimal.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hexadecimal.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

std::string sent_in(base::BufferChain& out) {
  std::string all;
  for (; !out.empty(); out.consume(out.front().size())) all += out.front();
  return all;
}

struct Written {
  const char* what;
  void (*append)(base::BufferChain& out);
  const char* bytes;
};
const std::vector<Written> written = {
    {"RST_STREAM",
     [](base::BufferChain& out) { append_rst_stream(out, 5, StreamStatus::refused_stream); },
     "800300030000000800000005"
     "00000003"},
    {"PING", [](base::BufferChain& out) { append_ping(out, 0x01020304); },
     "800300060000000401020304"},
    {"GOAWAY", [](base::BufferChain& out) { append_goaway(out, 7, SessionStatus::internal_error); },
     "800300070000000800000007"
     "00000002"},
    {"WINDOW_UPDATE", [](base::BufferChain& out) { append_window_update(out, 0, 0x7fffffff); },
     "8003000900000008000000007fffffff"},
    {"SETTINGS",
     [](base::BufferChain& out) {
       const std::vector<SettingLine> lines = {{Setting::max_concurrent_streams, 100},
                                               {Setting::initial_window_size, 65536}};
       append_settings(out, lines);
     },
     "80030004000000140000000200000004000000640000000700010000"},
    {"SYN_REPLY",
     [](base::BufferChain& out) {
       append_control(out, FrameType::syn_reply, flag::fin, "abcd", "efg");
     },
     "8003000201000007"
     "61626364656667"},
};

TEST(SpdyFrames, AreWrittenAsTheDraftDrawsThem) {
  for (const Written& row : written) {
    base::BufferChain out;
    row.append(out);
    EXPECT_EQ(sent_in(out), bytes_of(row.bytes)) << row.what;
  }
  std::string head(frame_head_bytes, '\0');
  write_data_head(head.data(), 3, flag::fin, 0x010203);
  EXPECT_EQ(head, bytes_of("0000000301010203"));
}

// Reads everything in steps of `step` bytes. Control frames give "type:payload", data frames their
// parts.
std::string read_all(std::string_view bytes, std::size_t step) {
  FrameReader reader(16);
  std::string log;
  while (!bytes.empty()) {
    const std::string piece(bytes.substr(0, step));
    bytes.remove_prefix(piece.size());
    reader.add(piece);
    for (;;) {
      const FrameReader::Step got = reader.next();
      if (got == FrameReader::Step::none) break;
      if (got == FrameReader::Step::too_large) return log + "too large";
      if (got == FrameReader::Step::data) log += reader.bytes();
      if (got == FrameReader::Step::data_end) {
        log += "/" + std::to_string(reader.head().stream) + "\n";
      }
      if (got != FrameReader::Step::control) continue;
      log += std::to_string(static_cast<int>(reader.head().type)) + ":" +
             std::string(reader.bytes()) + "\n";
    }
  }
  return log;
}

TEST(SpdyFrames, AreFoundWholeAndByteByByte) {
  const std::string bytes = control(6, 0, "abcd") + data(1, 0, "hello") + data(3, 1, "") +
                            control(4000, 0, "") + data(1, 1, "x");
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}, bytes.size()}) {
    EXPECT_EQ(read_all(bytes, step), "6:abcd\nhello/1\n/3\n4000:\nx/1\n") << step;
  }
}

TEST(SpdyFrames, AControlFrameHasALimitAndDataHasNone) {
  EXPECT_EQ(read_all(control(6, 0, std::string(16, 'a')), SIZE_MAX),
            "6:" + std::string(16, 'a') + "\n");
  EXPECT_EQ(read_all(control(6, 0, std::string(17, 'a')), SIZE_MAX), "too large");
  EXPECT_EQ(read_all(data(1, 0, std::string(100'000, 'a')), SIZE_MAX),
            std::string(100'000, 'a') + "/1\n");
}

TEST(SpdyFrames, AnUnfinishedFrameHasANumber) {
  FrameReader reader(16);
  const std::string ping = control(6, 0, "abcd");
  EXPECT_EQ(reader.unfinished(), 0U);
  for (const std::size_t size : {4, 5}) {
    reader.add(std::string_view(ping).substr(size == 4 ? 0 : 4, size));
    EXPECT_EQ(reader.next(), FrameReader::Step::none);
    EXPECT_NE(reader.unfinished(), 0U);
  }
  reader.add(std::string_view(ping).substr(9));
  EXPECT_EQ(reader.next(), FrameReader::Step::control);
  EXPECT_EQ(reader.unfinished(), 0U);
}

TEST(SpdyFrames, SettingsTakeTheFirstOfSeveralAndNothingStored) {
  std::string seen;
  const auto note = [&](Setting setting, std::uint32_t value) {
    seen += std::to_string(static_cast<int>(setting)) + "=" + std::to_string(value) + " ";
  };
  const std::string payload = u32(5) + u32(7) + u32(1) + u32(7) + u32(2) + u32(0x02000004) +
                              u32(3) + u32(0x01000004) + u32(9) + u32(0x00ffffff) + u32(1);
  EXPECT_TRUE(read_settings(payload, note));
  EXPECT_EQ(seen, "7=1 4=9 ");
  for (const std::string& bad :
       {std::string(), u32(1), u32(0) + u32(7), u32(2) + u32(7) + u32(1), u32(0xffffffff)}) {
    EXPECT_FALSE(read_settings(bad, note)) << bad.size();
  }
}

// --- header blocks ----------------------------------------------------------------------------

TEST(SpdyDictionary, IsThatOfTheDraft) {
  const std::string_view text = dictionary();
  EXPECT_EQ(text.size(), 1423U);
  std::uint32_t a = 1;
  std::uint32_t b = 0;  // Adler-32 (RFC 1950, 8.2)
  for (const char c : text) {
    a = (a + static_cast<unsigned char>(c)) % 65521;
    b = (b + a) % 65521;
  }
  EXPECT_EQ(b << 16 | a, 0xe3c6a7c2U);
}

// Made with Python's zlib.
const std::string first_request = bytes_of(
    "78f9e3c6a7c2026525507ab442a45a77d71090a8554122b86c62d40725522bec0996d50a5a903066804d29069697b9"
    "e05228a3a4a400000000ffff");
const std::string second_request = bytes_of("a2a9e100000000ffff");
const std::string other_dictionary = bytes_of(
    "78f9442d074862606060056276abdcd4928cfc142093d9dd3504246a55905892016430ea03090eabb2d4a262a01610"
    "db23242440df50cf10ac2a23bfb804a42a036c4a7172466a6e2a90c99251525200000000ffff");

TEST(SpdyHeaderBlock, IsDecompressedWithWhatCameBefore) {
  Decompressor decompressor;
  std::string block;
  for (const std::string& compressed : {first_request, second_request}) {
    ASSERT_EQ(decompressor.decompress(compressed, 1000, block), Decompressor::Verdict::good);
    EXPECT_EQ(block, raw_block(get));
  }
}

TEST(SpdyHeaderBlock, WhatIsBrokenIsRefused) {
  const std::vector<std::string> broken = {other_dictionary, "garbage", std::string(64, '\0'),
                                           first_request.substr(0, 6) + std::string(40, '\xff')};
  for (const std::string& compressed : broken) {
    std::string block;
    EXPECT_EQ(Decompressor().decompress(compressed, 1000, block), Decompressor::Verdict::malformed);
  }
  // The second block means nothing without the first one.
  std::string block;
  EXPECT_EQ(Decompressor().decompress(second_request, 1000, block),
            Decompressor::Verdict::malformed);
}

TEST(SpdyHeaderBlock, HasALimitWhenDecompressed) {
  const std::string zeros(1'000'000, '\0');
  const std::string bomb(Compressor().compress(zeros));
  EXPECT_LT(bomb.size(), zeros.size() / 100);
  std::string block;
  EXPECT_EQ(Decompressor().decompress(bomb, zeros.size() - 1, block),
            Decompressor::Verdict::too_large);
  EXPECT_LE(block.size(), zeros.size());
  EXPECT_EQ(Decompressor().decompress(bomb, zeros.size(), block), Decompressor::Verdict::good);
  EXPECT_EQ(block, zeros);
}

TEST(SpdyHeaderBlock, CompressorAndDecompressorAgree) {
  Compressor compressor;
  Decompressor decompressor;
  for (std::size_t size = 0; size < 40'000; size = size * 3 + 1) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(i * i >> 3);
    std::string block;
    const std::string compressed(compressor.compress(text));
    ASSERT_EQ(decompressor.decompress(compressed, 100'000, block), Decompressor::Verdict::good);
    EXPECT_EQ(block, text) << size;
  }
}

TEST(SpdyHeaderBlock, FieldsWithOneNameBecomeOnePair) {
  const std::vector<Field> fields = {{"a", "1"}, {"b", ""}, {"a", ""}, {"c", "3"}, {"a", "2"}};
  std::string block;
  write_block(fields, block);
  EXPECT_EQ(block, raw_block({{"a", std::string("1\0002", 3)}, {"b", ""}, {"c", "3"}}));
}

TEST(SpdyHeaderBlock, LengthsThatContradictAreRefused) {
  std::vector<Field> pairs;
  const std::string whole = raw_block({{"name", "value"}, {"b", ""}});
  EXPECT_TRUE(read_block(whole, pairs));
  EXPECT_EQ(pairs.size(), 2U);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_block(whole.substr(0, size), pairs)) << size;
  }
  EXPECT_FALSE(read_block(whole + "x", pairs));
  EXPECT_FALSE(read_block(raw_block({{"", "x"}}), pairs));
  EXPECT_FALSE(read_block(raw_block({{"a", "1"}, {"b", ""}, {"a", "2"}}), pairs));
  EXPECT_FALSE(read_block(u32(0xffffffff) + whole.substr(4), pairs));
  EXPECT_FALSE(read_block(u32(1) + u32(0xffffffff) + "aaaa", pairs));
}

TEST(SpdyHeaderBlock, ValuesAreSeparatedByNul) {
  const auto split = [](std::string_view value) {
    std::string all;
    const bool good =
        split_value(value, [&](std::string_view one) { all.append(one).append(";"); });
    return good ? all : "bad";
  };
  EXPECT_EQ(split(""), ";");
  EXPECT_EQ(split("a"), "a;");
  EXPECT_EQ(split(std::string_view("a\0b", 3)), "a;b;");
  EXPECT_EQ(split(std::string_view("\0a", 2)), "bad");
  EXPECT_EQ(split(std::string_view("a\0", 2)), "bad");
  EXPECT_EQ(split(std::string_view("a\0\0b", 4)), "bad");
}

}  // namespace spdy_frames_test
}  // namespace h2server::lab::spdy
