#include "content/archive/zip.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "content/archive_support.h"

namespace h2server::content {
namespace zip_test {

using namespace std::string_literals;

constexpr std::int64_t some_time = 1'000'000'000;  // 2001-09-09T01:46:40Z, 0x3b9aca00
constexpr auto file = ArchiveEntry::Kind::file;
constexpr auto directory = ArchiveEntry::Kind::directory;

void add(ZipFraming& framing, const ArchiveEntry& entry, std::string_view content,
         std::string& out) {
  ASSERT_TRUE(framing.begin(entry, out));
  if (!content.empty()) framing.cover(content);
  out += content;
  framing.end(out);
}

// Adds an entry without its content: the framing counts by the size.
void skip(ZipFraming& framing, const ArchiveEntry& entry) {
  std::string out;
  ASSERT_TRUE(framing.begin(entry, out));
  framing.end(out);
}

std::string finish(ZipFraming& framing) {
  std::string out;
  while (framing.finish(out)) {
  }
  return out;
}

TEST(Zip, BytesOfAFile) {
  ZipFraming framing;
  std::string out;
  add(framing, {"d/a.txt", file, 9, some_time}, "123456789", out);
  const std::string head = "\x50\x4b\x03\x04"
                           "\x14\0"
                           "\x08\x08"
                           "\0\0"
                           "\xd4\x0d"
                           "\x29\x2b"
                           "\0\0\0\0"
                           "\0\0\0\0"
                           "\0\0\0\0"
                           "\x07\0"
                           "\x09\0"
                           "d/a.txt"
                           "UT"
                           "\x05\0"
                           "\x01"
                           "\x00\xca\x9a\x3b"s;
  const std::string descriptor = "\x50\x4b\x07\x08"
                                 "\x26\x39\xf4\xcb"
                                 "\x09\0\0\0"
                                 "\x09\0\0\0"s;
  EXPECT_EQ(out, head + "123456789" + descriptor);

  const std::string central = "\x50\x4b\x01\x02"
                              "\x2d\x03"
                              "\x14\0"
                              "\x08\x08"
                              "\0\0"
                              "\xd4\x0d"
                              "\x29\x2b"
                              "\x26\x39\xf4\xcb"
                              "\x09\0\0\0"
                              "\x09\0\0\0"
                              "\x07\0"
                              "\x09\0"
                              "\0\0"
                              "\0\0"
                              "\0\0"
                              "\0\0\xa4\x81"
                              "\0\0\0\0"
                              "d/a.txt"
                              "UT"
                              "\x05\0"
                              "\x01"
                              "\x00\xca\x9a\x3b"s;
  const std::string end = "\x50\x4b\x05\x06"
                          "\0\0"
                          "\0\0"
                          "\x01\0"
                          "\x01\0"
                          "\x3e\0\0\0"
                          "\x47\0\0\0"
                          "\0\0"s;
  EXPECT_EQ(finish(framing), central + end);
}

// The field that both headers end with: some_time.
const std::string time_field = "UT"
                               "\x05\0"
                               "\x01"
                               "\x00\xca\x9a\x3b"s;

// What both headers of an entry without content have from the flags to the length of the fields.
std::string empty_entry(const std::string& path) {
  return "\0\x08"
         "\0\0"
         "\xd4\x0d"
         "\x29\x2b"s +
         std::string(12, '\0') + static_cast<char>(path.size()) +
         "\0"
         "\x09\0"s;
}

std::string local_header(const std::string& path) {
  return "\x50\x4b\x03\x04"
         "\x14\0"s +
         empty_entry(path) + path + time_field;
}

// `place`: the attributes and the offset.
std::string central_header(const std::string& path, const std::string& place) {
  return "\x50\x4b\x01\x02"
         "\x2d\x03"
         "\x14\0"s +
         empty_entry(path) + std::string(6, '\0') + place + path + time_field;
}

// Neither needs a descriptor.
TEST(Zip, BytesOfADirectoryAndAnEmptyFile) {
  ZipFraming framing;
  std::string out;
  add(framing, {"d", directory, 0, some_time}, "", out);
  add(framing, {"d/e", file, 0, some_time}, "", out);
  EXPECT_EQ(out, local_header("d/") + local_header("d/e"));
  const std::string end = "\x50\x4b\x05\x06"
                          "\0\0"
                          "\0\0"
                          "\x02\0"
                          "\x02\0"
                          "\x73\0\0\0"
                          "\x53\0\0\0"
                          "\0\0"s;
  EXPECT_EQ(finish(framing), central_header("d/", "\x10\0\xed\x41"
                                                  "\0\0\0\0"s) +
                                 central_header("d/e", "\0\0\xa4\x81"
                                                       "\x29\0\0\0"s) +
                                 end);
}

TEST(Zip, ChecksumOfContentInPieces) {
  ZipFraming framing;
  std::string out;
  ASSERT_TRUE(framing.begin({"a", file, 9, some_time}, out));
  for (const char c : "123456789"s) framing.cover({&c, 1});
  out.clear();
  framing.end(out);
  EXPECT_EQ(number(out, 4, 4), 0xcbf43926);
  out.clear();
  ASSERT_TRUE(framing.begin({"b", file, 1, some_time}, out));
  framing.cover("a");  // counted from the beginning again
  out.clear();
  framing.end(out);
  EXPECT_EQ(number(out, 4, 4), 0xe8b7be43);
}

TEST(Zip, EmptyArchive) {
  ZipFraming framing;
  EXPECT_EQ(finish(framing), "\x50\x4b\x05\x06"s + std::string(18, '\0'));
}

// A descriptor has sizes of 8 bytes if and only if the local header has the field of zip64.
TEST(Zip, SizesAroundFourGibibytes) {
  ZipFraming small;
  std::string out;
  ASSERT_TRUE(small.begin({"a", file, 0xffff'fffe, some_time}, out));
  EXPECT_EQ(number(out, 4, 2), 20U);
  EXPECT_EQ(number(out, 18, 8), 0U);
  EXPECT_EQ(number(out, 28, 2), 9U);  // the time only
  out.clear();
  small.end(out);
  EXPECT_EQ(out.size(), 16U);
  EXPECT_EQ(number(out, 8, 4), 0xffff'fffeU);
  EXPECT_EQ(number(out, 12, 4), 0xffff'fffeU);

  for (const std::uint64_t size : {0xffff'ffffUL, 0x1'0000'0000UL, 0x7fff'ffff'ffffUL}) {
    ZipFraming large;
    out.clear();
    ASSERT_TRUE(large.begin({"a", file, size, some_time}, out));
    EXPECT_EQ(number(out, 4, 2), 45U);
    EXPECT_EQ(number(out, 18, 8), 0xffff'ffff'ffff'ffffU);
    EXPECT_EQ(number(out, 28, 2), 29U);
    EXPECT_EQ(out.substr(31, 20), "\x01\0\x10\0"s + std::string(16, '\0'));
    out.clear();
    large.end(out);
    EXPECT_EQ(out.size(), 24U);
    EXPECT_EQ(number(out, 8, 8), size);
    EXPECT_EQ(number(out, 16, 8), size);

    const std::string end = finish(large);
    EXPECT_EQ(number(end, 6, 2), 45U);
    EXPECT_EQ(number(end, 20, 8), 0xffff'ffff'ffff'ffffU);
    EXPECT_EQ(number(end, 30, 2), 29U);
    EXPECT_EQ(number(end, 42, 4), 0U);  // its offset
    EXPECT_EQ(end.substr(47, 4), "\x01\0\x10\0"s);
    EXPECT_EQ(number(end, 51, 8), size);
    EXPECT_EQ(number(end, 59, 8), size);
  }
}

TEST(Zip, OffsetsAroundFourGibibytes) {
  // A local header of a path of one byte, with the time, has 40 bytes, and a descriptor 16.
  constexpr std::uint64_t before = 0xffff'ffff - 40 - 16;
  ZipFraming below;
  skip(below, {"a", file, before - 1, some_time});
  skip(below, {"b", file, 0, some_time});
  const std::string end_below = finish(below);
  EXPECT_EQ(number(end_below, 56 + 6, 2), 20U);
  EXPECT_EQ(number(end_below, 56 + 42, 4), 0xffff'fffeU);
  EXPECT_EQ(end_below.substr(56 + 46, 3), "bUT");

  ZipFraming at;
  skip(at, {"a", file, before, some_time});
  skip(at, {"b", file, 0, some_time});
  const std::string end_at = finish(at);
  EXPECT_EQ(number(end_at, 56 + 6, 2), 45U);
  EXPECT_EQ(number(end_at, 56 + 20, 8), 0U);  // the sizes are not in the field of zip64
  EXPECT_EQ(number(end_at, 56 + 42, 4), 0xffff'ffffU);
  EXPECT_EQ(end_at.substr(56 + 46, 5), "b\x01\0\x08\0"s);
  EXPECT_EQ(number(end_at, 56 + 51, 8), 0xffff'ffffU);
}

TEST(Zip, Zip64EndIfTheDirectoryBeginsBehindFourGibibytes) {
  constexpr std::uint64_t before = 0xffff'ffff - 40 - 16;
  ZipFraming below;
  skip(below, {"a", file, before - 1, some_time});
  const std::string end_below = finish(below);
  EXPECT_EQ(end_below.size(), 56U + 22U);
  EXPECT_EQ(number(end_below, 56 + 16, 4), 0xffff'fffeU);

  ZipFraming at;
  skip(at, {"a", file, before, some_time});
  const std::string end = finish(at).substr(56);
  ASSERT_EQ(end.size(), 56U + 20U + 22U);
  EXPECT_EQ(number(end, 0, 4), 0x06064b50U);
  EXPECT_EQ(number(end, 4, 8), 44U);
  EXPECT_EQ(number(end, 14, 2), 45U);
  EXPECT_EQ(number(end, 24, 8), 1U);
  EXPECT_EQ(number(end, 32, 8), 1U);
  EXPECT_EQ(number(end, 40, 8), 56U);
  EXPECT_EQ(number(end, 48, 8), 0xffff'ffffU);
  EXPECT_EQ(number(end, 56, 4), 0x07064b50U);
  EXPECT_EQ(number(end, 64, 8), 0xffff'ffffUL + 56);
  EXPECT_EQ(number(end, 72, 4), 1U);
  EXPECT_EQ(number(end, 76, 4), 0x06054b50U);
  EXPECT_EQ(number(end, 76 + 8, 2), 1U);
  EXPECT_EQ(number(end, 76 + 12, 4), 56U);
  EXPECT_EQ(number(end, 76 + 16, 4), 0xffff'ffffU);
}

TEST(Zip, NumbersOfEntries) {
  for (const std::uint64_t count : {65534U, 65535U, 70000U}) {
    ZipFraming framing;
    for (std::uint64_t i = 0; i < count; ++i) skip(framing, {"a", file, 0, some_time});
    const std::string end = finish(framing);
    const std::size_t at = end.size() - 22;
    const bool zip64 = count > 65534;
    EXPECT_EQ(end.size(), count * 56 + 22 + (zip64 ? 76 : 0));
    EXPECT_EQ(number(end, at + 8, 2), zip64 ? 0xffffU : count);
    EXPECT_EQ(number(end, at + 10, 2), zip64 ? 0xffffU : count);
    EXPECT_EQ(number(end, at + 12, 4), count * 56);
    EXPECT_EQ(number(end, at + 16, 4), count * 40);
    if (zip64) {
      EXPECT_EQ(number(end, at - 76 + 24, 8), count);
      EXPECT_EQ(number(end, at - 76 + 32, 8), count);
    }
  }
}

TEST(Zip, TheDirectoryIsGivenInBlocks) {
  ZipFraming framing;
  for (int i = 0; i < 5000; ++i) skip(framing, {"a", file, 0, some_time});
  std::size_t parts = 0;
  for (bool more = true; more; ++parts) {
    std::string part;
    more = framing.finish(part);
    EXPECT_LE(part.size(), 60U * 1024);
  }
  EXPECT_EQ(parts, 6U);  // 280000 bytes in five blocks, and the end
}

TEST(Zip, Limits) {
  std::string out;
  ZipFraming few({.entries_max = 2, .directory_bytes_max = 1000});
  skip(few, {"a", file, 0, some_time});
  skip(few, {"b", file, 0, some_time});
  EXPECT_FALSE(few.begin({"c", file, 0, some_time}, out));

  ZipFraming small({.entries_max = 100, .directory_bytes_max = 300});
  skip(small, {std::string(100, 'a'), file, 0, some_time});
  EXPECT_FALSE(small.begin({std::string(100, 'b'), file, 0, some_time}, out));

  ZipFraming framing;
  const Result<void> long_path = framing.begin({std::string(65535, 'a'), file, 0, 0}, out);
  ASSERT_FALSE(long_path);
  EXPECT_EQ(long_path.error().code, ENAMETOOLONG);
  EXPECT_TRUE(out.empty());
  EXPECT_TRUE(framing.begin({std::string(65534, 'a'), directory, 0, 0}, out));
}

TEST(Zip, Times) {
  struct Row {
    std::int64_t modified_s;
    std::uint64_t date;
    std::uint64_t time;
    bool exact;  // with the timestamp
  };
  constexpr std::uint64_t first_day = 1U << 5 | 1U;
  constexpr std::uint64_t last_day = 127U << 9 | 12U << 5 | 31U;
  constexpr std::uint64_t last_time = 23U << 11 | 59U << 5 | 29U;
  const std::vector<Row> rows = {
      {some_time, 21U << 9 | 9U << 5 | 9U, 1U << 11 | 46U << 5 | 20U, true},
      {some_time + 1, 21U << 9 | 9U << 5 | 9U, 1U << 11 | 46U << 5 | 20U, true},
      {951'782'399, 20U << 9 | 2U << 5 | 28U, last_time, true},
      {951'782'400, 20U << 9 | 2U << 5 | 29U, 0, true},
      {0, first_day, 0, true},
      {-1, first_day, 0, true},
      {315'532'799, first_day, 0, true},
      {315'532'802, first_day, 1, true},
      {INT32_MIN, first_day, 0, true},
      {INT32_MIN - 1L, first_day, 0, false},
      {INT32_MAX, 58U << 9 | 1U << 5 | 19U, 3U << 11 | 14U << 5 | 3U, true},
      {INT32_MAX + 1L, 58U << 9 | 1U << 5 | 19U, 3U << 11 | 14U << 5 | 4U, false},
      {4'354'819'199, last_day, last_time, false},
      {4'354'819'200, last_day, last_time, false},
      {INT64_MAX, last_day, last_time, false},
      {INT64_MIN, first_day, 0, false},
  };
  for (const Row& row : rows) {
    ZipFraming framing;
    std::string out;
    ASSERT_TRUE(framing.begin({"a", file, 0, row.modified_s}, out));
    EXPECT_EQ(number(out, 12, 2), row.date) << row.modified_s;
    EXPECT_EQ(number(out, 10, 2), row.time) << row.modified_s;
    EXPECT_EQ(number(out, 28, 2), row.exact ? 9U : 0U) << row.modified_s;
    if (row.exact) {
      EXPECT_EQ(number(out, 36, 4), static_cast<std::uint32_t>(row.modified_s));
    }
    framing.end(out);
    const std::string end = finish(framing);
    EXPECT_EQ(number(end, 14, 2), row.date) << row.modified_s;
    EXPECT_EQ(number(end, 30, 2), row.exact ? 9U : 0U) << row.modified_s;
  }
}

}  // namespace zip_test
}  // namespace h2server::content
