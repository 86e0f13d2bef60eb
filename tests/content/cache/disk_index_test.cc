#include "content/cache/disk_index.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace h2server::content {
namespace disk_index_test {

using Entry = DiskIndex::Entry;
using Names = std::vector<std::string>;

Entry entry(const std::string& digits, std::uint64_t bytes, std::int64_t used_s = 0,
            const std::string& version = "v") {
  return {.names = {digits, version}, .bytes = bytes, .used_s = used_s, .touched_s = used_s};
}

Names names_of(const DiskIndex::Removed& removed) {
  Names names;
  for (const Entry& one : removed) names.push_back(one.names.bytes());
  return names;
}

TEST(DiskNames, Parse) {
  const std::string digits = "0123456789abcdef0123456789abcdef";
  const std::string version = "fedcba9876543210";
  const auto names = DiskNames::parse(digits + "-" + version);
  ASSERT_TRUE(names.has_value());
  EXPECT_EQ(names->digits, digits);
  EXPECT_EQ(names->version, version);
  EXPECT_EQ(names->bytes(), digits + "-" + version);
  EXPECT_EQ(names->head(), digits + "-" + version + ".head");
  for (const std::string& other :
       {std::string(), digits, digits + "_" + version, digits + "-" + version + "0",
        digits + "-" + "Fedcba9876543210", "x" + digits.substr(1) + "-" + version,
        digits + "-" + version + ".head"}) {
    EXPECT_FALSE(DiskNames::parse(other).has_value()) << other;
  }
}

TEST(DiskIndex, TakesWhatWasUsedLeastRecently) {
  DiskIndex index;
  for (const char* const digits : {"a", "b", "c", "d"}) {
    EXPECT_EQ(names_of(index.add(entry(digits, 10))), Names());
  }
  EXPECT_EQ(index.size().bytes, 40U);
  EXPECT_EQ(index.note_use("a", 1), false);
  EXPECT_EQ(names_of(*index.make_room(40, 0)), Names());
  EXPECT_EQ(names_of(*index.make_room(39, 0)), Names{"b-v"});
  EXPECT_EQ(names_of(*index.make_room(30, 11)), (Names{"c-v", "d-v"})) << "the disk lacks 11 bytes";
  EXPECT_EQ(index.size().objects, 1U);
  EXPECT_FALSE(index.make_room(10, 11).has_value()) << "there is not so much";
  EXPECT_TRUE(index.has("a"));
}

TEST(DiskIndex, ClaimsCount) {
  DiskIndex index;
  static_cast<void>(index.add(entry("a", 10)));
  EXPECT_TRUE(index.claim("b", 10, 2));
  EXPECT_FALSE(index.claim("b", 10, 2)) << "somebody writes it";
  EXPECT_TRUE(index.claim("c", 5, 2));
  EXPECT_FALSE(index.claim("d", 1, 2)) << "two at most";
  index.wrote("b", 4);
  EXPECT_EQ(index.unwritten(), 11U);
  EXPECT_EQ(names_of(*index.make_room(25, 0)), Names());
  EXPECT_FALSE(index.make_room(14, 0).has_value()) << "claims can't be taken";
  EXPECT_EQ(names_of(*index.make_room(24, 0)), Names{"a-v"});
  index.give_back("b");
  index.give_back("c");
  EXPECT_EQ(index.unwritten(), 0U);
  EXPECT_TRUE(index.claim("b", 10, 2));
}

TEST(DiskIndex, AnotherVersionTakesThePlace) {
  DiskIndex index;
  static_cast<void>(index.add(entry("a", 10)));
  EXPECT_EQ(names_of(index.add(entry("a", 10))), Names()) << "the same files";
  EXPECT_EQ(names_of(index.add(entry("a", 7, 0, "w"))), Names{"a-v"});
  EXPECT_EQ(index.size().bytes, 7U);
  EXPECT_EQ(names_of(index.take("a")), Names{"a-w"});
  EXPECT_EQ(names_of(index.take("a")), Names());
  EXPECT_EQ(index.size().objects, 0U);
}

TEST(DiskIndex, NotesUsesOnceAMinute) {
  DiskIndex index;
  static_cast<void>(index.add(entry("a", 1, 1000)));
  EXPECT_FALSE(index.note_use("a", 1059));
  EXPECT_TRUE(index.note_use("a", 1060));
  EXPECT_FALSE(index.note_use("a", 1061));
  EXPECT_FALSE(index.note_use("gone", 5000));
}

TEST(DiskIndex, BecomesWhatTheDirectoryHas) {
  DiskIndex index;
  static_cast<void>(index.add(entry("gone", 1, 1)));
  static_cast<void>(index.add(entry("here", 2, 2)));
  static_cast<void>(index.add(entry("replaced", 4, 3)));
  index.note_opened({"here", "v"}, "key", nullptr);
  const std::uint64_t mark = index.added();
  static_cast<void>(index.add(entry("new", 8, 9)));
  DiskIndex::Found found;
  found["here"] = entry("here", 2, 2);
  found["replaced"] = entry("replaced", 16, 4, "w");
  found["other"] = entry("other", 32, 5);
  EXPECT_EQ(names_of(index.merge(std::move(found), mark)), (Names{"replaced-v", "gone-v"}));
  EXPECT_EQ(index.size().bytes, 58U);
  EXPECT_EQ(index.find("here")->name, "key") << "what was known of it stays";
  EXPECT_EQ(index.find("replaced")->names.version, "w");
  EXPECT_EQ(names_of(*index.make_room(0, 0)), (Names{"here-v", "replaced-w", "other-v", "new-v"}))
      << "by the time of use";
}

}  // namespace disk_index_test
}  // namespace h2server::content
