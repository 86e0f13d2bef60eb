#include "content/archive/tar.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace h2server::content {
namespace tar_test {

constexpr std::int64_t some_time = 1'000'000'000;  // octal 7346545000
constexpr auto file = ArchiveEntry::Kind::file;
constexpr auto directory = ArchiveEntry::Kind::directory;

std::string begin(const ArchiveEntry& entry) {
  TarFraming framing;
  std::string out;
  EXPECT_TRUE(framing.begin(entry, out));
  return out;
}

// Returns the text of a field, up to the first byte 0.
std::string field(std::string_view block, std::size_t at, std::size_t size) {
  const std::string_view bytes = block.substr(at, size);
  return std::string(bytes.substr(0, bytes.find('\0')));
}

unsigned checksum(std::string_view block) {
  unsigned sum = 0;
  for (std::size_t at = 0; at < 512; ++at) {
    sum += at >= 148 && at < 156 ? ' ' : static_cast<unsigned char>(block[at]);
  }
  return sum;
}

// What begin() appended.
struct Begun {
  std::map<std::string, std::string> records;  // of the extended header
  std::string keywords;                        // in their order, with a space behind each
  std::string header;                          // the entry's own block
};

Begun read(std::string out) {
  Begun begun;
  if (field(out, 156, 1) == "x") {
    EXPECT_EQ(std::stoul(field(out, 148, 8), nullptr, 8), checksum(out));
    const std::size_t size = std::stoul(field(out, 124, 12), nullptr, 8);
    std::string_view records = std::string_view(out).substr(512, size);
    while (!records.empty()) {
      const std::size_t length = std::stoul(std::string(records));
      EXPECT_LE(length, records.size());
      EXPECT_EQ(records[length - 1], '\n');
      const std::string_view record = records.substr(0, length - 1);
      const std::size_t space = record.find(' ');
      const std::size_t equals = record.find('=');
      const std::string keyword(record.substr(space + 1, equals - space - 1));
      begun.keywords += keyword + ' ';
      begun.records[keyword] = record.substr(equals + 1);
      records.remove_prefix(length);
    }
    out.erase(0, 512 + (size + 511) / 512 * 512);
  }
  EXPECT_EQ(out.size(), 512U);
  EXPECT_EQ(std::stoul(field(out, 148, 8), nullptr, 8), checksum(out));
  begun.header = std::move(out);
  return begun;
}

TEST(Tar, HeaderOfAFile) {
  std::string expected(512, '\0');
  const std::vector<std::pair<std::size_t, std::string_view>> fields = {
      {0, "dir/a.txt"},     {100, "0000644"},     {108, "0000000"}, {116, "0000000"},
      {124, "00000000005"}, {136, "07346545000"}, {148, "011001"},  {155, " "},
      {156, "0"},           {257, "ustar"},       {263, "00"},      {329, "0000000"},
      {337, "0000000"},
  };
  for (const auto& [at, text] : fields) expected.replace(at, text.size(), text);
  EXPECT_EQ(begin({"dir/a.txt", file, 5, some_time}), expected);
}

TEST(Tar, HeaderOfADirectory) {
  const Begun begun = read(begin({"dir/sub", directory, 0, some_time}));
  EXPECT_EQ(field(begun.header, 0, 100), "dir/sub/");
  EXPECT_EQ(field(begun.header, 100, 8), "0000755");
  EXPECT_EQ(field(begun.header, 124, 12), "00000000000");
  EXPECT_EQ(field(begun.header, 156, 1), "5");
  EXPECT_EQ(begun.keywords, "");
}

TEST(Tar, ContentIsPaddedToBlocks) {
  const std::vector<std::pair<std::uint64_t, std::size_t>> rows = {
      {0, 0}, {1, 511}, {511, 1}, {512, 0}, {513, 511}, {8'589'934'592, 0}, {8'589'934'593, 511}};
  for (const auto& [size, padding] : rows) {
    TarFraming framing;
    std::string out;
    ASSERT_TRUE(framing.begin({"a", file, size, 0}, out));
    out.clear();
    framing.end(out);
    EXPECT_EQ(out, std::string(padding, '\0')) << size;
  }
}

std::string a(std::size_t count) { return std::string(count, 'a'); }
std::string b(std::size_t count) { return std::string(count, 'b'); }

TEST(Tar, PathsThatFitAreSplit) {
  struct Row {
    std::string path;
    ArchiveEntry::Kind kind;
    std::string prefix;
    std::string name;
  };
  const std::vector<Row> rows = {
      {a(100), file, "", a(100)},
      {a(99), directory, "", a(99) + "/"},
      {"d/" + a(98), file, "", "d/" + a(98)},
      {"d/" + a(99), file, "d", a(99)},
      {"d/" + a(100), file, "d", a(100)},
      {"d/" + a(99), directory, "d", a(99) + "/"},
      {a(155) + "/" + b(100), file, a(155), b(100)},
      {a(155) + "/" + b(99), directory, a(155), b(99) + "/"},
      {"c/d/" + a(60) + "/" + b(60), file, "c/d/" + a(60), b(60)},
      {a(90) + "/c/d/" + b(60), file, a(90), "c/d/" + b(60)},
  };
  for (const Row& row : rows) {
    const Begun begun = read(begin({row.path, row.kind, 0, 0}));
    EXPECT_EQ(field(begun.header, 345, 155), row.prefix) << row.path;
    EXPECT_EQ(field(begun.header, 0, 100), row.name) << row.path;
    EXPECT_EQ(begun.keywords, "") << row.path;
  }
}

TEST(Tar, OtherPathsTakeAnExtendedHeader) {
  struct Row {
    std::string path;
    ArchiveEntry::Kind kind;
    std::string keywords;
  };
  const std::vector<Row> rows = {
      {a(101), file, "path "},
      {a(100), directory, "path "},
      {"d/" + a(101), file, "path "},
      {"d/" + a(100), directory, "path "},
      {a(156) + "/" + b(100), file, "path "},
      {a(155) + "/" + b(101), file, "path "},
      {a(155) + "/" + b(100), directory, "path "},
      {a(4000), file, "path "},
      {"d/\u00fc.txt", file, "path "},
      {"\u00fc", directory, "path "},
      {"\xff.txt", file, "hdrcharset path "},
      {"\xc3", directory, "hdrcharset path "},
  };
  for (const Row& row : rows) {
    const Begun begun = read(begin({row.path, row.kind, 0, 0}));
    const std::string path = row.kind == directory ? row.path + "/" : row.path;
    EXPECT_EQ(begun.keywords, row.keywords) << row.path;
    EXPECT_EQ(begun.records.at("path"), path);
    if (begun.records.contains("hdrcharset")) {
      EXPECT_EQ(begun.records.at("hdrcharset"), "BINARY");
    }
    EXPECT_EQ(field(begun.header, 0, 100), path.substr(0, 100)) << row.path;
  }
}

// The length of a record counts its own digits.
TEST(Tar, LengthsOfRecords) {
  // 101 bytes and "path=", a space, a line end: 108, with three digits 111.
  for (std::size_t size = 101; size < 1100; ++size) {
    EXPECT_EQ(read(begin({a(size), file, 0, 0})).records.at("path"), a(size));
  }
  const std::string out = begin({a(101), file, 0, 0});
  EXPECT_EQ(out.substr(512, 111), "111 path=" + a(101) + "\n");
  // "\u00fc" leads to lengths of one digit and of two.
  EXPECT_EQ(begin({"\u00fc", file, 0, 0}).substr(512, 11), "11 path=\u00fc\n");
}

TEST(Tar, Sizes) {
  const Begun largest = read(begin({"a", file, 8'589'934'591, 0}));
  EXPECT_EQ(largest.keywords, "");
  EXPECT_EQ(field(largest.header, 124, 12), "77777777777");
  for (const std::uint64_t size : {8'589'934'592UL, 0x7fff'ffff'ffff'ffffUL}) {
    const Begun larger = read(begin({"a", file, size, 0}));
    EXPECT_EQ(larger.keywords, "size ");
    EXPECT_EQ(larger.records.at("size"), std::to_string(size));
    EXPECT_EQ(field(larger.header, 124, 12), "00000000000");
  }
}

TEST(Tar, Times) {
  const std::vector<std::pair<std::int64_t, std::string>> fit = {
      {0, "00000000000"}, {some_time, "07346545000"}, {8'589'934'591, "77777777777"}};
  for (const auto& [seconds, text] : fit) {
    const Begun begun = read(begin({"a", file, 0, seconds}));
    EXPECT_EQ(begun.keywords, "") << seconds;
    EXPECT_EQ(field(begun.header, 136, 12), text);
  }
  for (const std::int64_t seconds : {-1L, INT64_MIN, 8'589'934'592L, INT64_MAX}) {
    const Begun begun = read(begin({"a", file, 0, seconds}));
    EXPECT_EQ(begun.keywords, "mtime ") << seconds;
    EXPECT_EQ(begun.records.at("mtime"), std::to_string(seconds));
    EXPECT_EQ(field(begun.header, 136, 12), "00000000000");
  }
}

}  // namespace tar_test
}  // namespace h2server::content
