#include "http/h2/hpack/dynamic_table.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "http/h2/hpack/lines.h"

namespace h2server::http::h2::hpack {
namespace dynamic_table_test {

// A straightforward implementation of RFC 7541, 4.
struct Model {
  struct Entry {
    std::string name;
    std::string value;
    std::uint16_t tag;
  };
  std::deque<Entry> entries;
  std::size_t bytes_max;

  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const Entry& entry : entries) sum += entry.name.size() + entry.value.size() + 32;
    return sum;
  }
  void resize(std::size_t size) {
    bytes_max = size;
    while (bytes() > size) entries.pop_back();
  }
  void insert(const std::string& name, const std::string& value, std::uint16_t tag) {
    const std::size_t size = name.size() + value.size() + 32;
    while (!entries.empty() && bytes() + size > bytes_max) entries.pop_back();
    if (size <= bytes_max) entries.push_front({name, value, tag});
  }
};

void expect_equal(const DynamicTable& table, const Model& model) {
  ASSERT_EQ(table.count(), model.entries.size());
  ASSERT_EQ(table.bytes(), model.bytes());
  for (std::uint32_t age = 0; age < table.count(); ++age) {
    const DynamicTable::Entry entry = table.at(age);
    const Model::Entry& expected = model.entries[age];
    // One check for the three: it runs for every entry after every insertion.
    const bool equal = entry.name() == expected.name && entry.value() == expected.value &&
                       entry.tag == expected.tag;
    ASSERT_TRUE(equal) << "entry " << age << ": " << entry.name() << ", " << expected.name;
  }
}

void compare(std::uint32_t limit, std::size_t size_max, int rounds) {
  DynamicTable table(limit);
  Model model{{}, limit};
  Random random(limit);
  for (int i = 0; i < rounds; ++i) {
    if (random.below(100) == 0) {
      const auto size = static_cast<std::uint32_t>(random.below(limit + 1));
      const std::uint32_t wanted = random.below(4) == 0 ? 0 : random.below(2) == 0 ? limit : size;
      table.resize(wanted);
      model.resize(wanted);
    } else {
      const std::string name = random.text(random.below(size_max), "abcdef");
      const std::string value = random.text(random.below(size_max), "uvwxyz");
      const auto tag = static_cast<std::uint16_t>(random.below(65536));
      table.insert(name, value, tag);
      model.insert(name, value, tag);
    }
    expect_equal(table, model);
    // The bound: a buffer of `limit` bytes, and a ring of records for as many entries as fit.
    ASSERT_LE(table.memory_bytes(), limit + std::max(limit / 32, 8U) * 8 * 2);
  }
}

TEST(DynamicTable, DoesWhatTheDefinitionDoes) {
  compare(4096, 20, 5000);
  compare(4096, 1, 2000);  // empty strings: as many entries as possible
  compare(4096, 200, 3000);
  compare(4096, 3000, 5000);  // some are larger than the table
  compare(100, 40, 5000);
  compare(32, 2, 1000);
  compare(0, 2, 100);
  compare(65536, 300, 1000);
  compare(65536, 40000, 2000);
}

TEST(DynamicTable, HoldsLittleMemory) {
  DynamicTable table(4096);
  EXPECT_EQ(table.memory_bytes(), 0U);
  for (int i = 0; i < 8; ++i) table.insert("some-name", "a value of twenty1", 0);
  EXPECT_EQ(table.memory_bytes(), 256U + 8 * 8);
  for (int i = 0; i < 1000; ++i) table.insert("some-name", "a value of twenty1", 0);
  const std::size_t warm = table.memory_bytes();
  for (int i = 0; i < 1000; ++i) table.insert("some-name", "a value of twenty1", 0);
  EXPECT_EQ(table.memory_bytes(), warm);
  table.resize(0);
  EXPECT_EQ(table.memory_bytes(), 0U);
}

TEST(DynamicTable, FindsTheNewestOfASizeAndTag) {
  DynamicTable table(4096);
  table.insert("ab", "cd", 7);
  table.insert("ab", "xy", 7);
  table.insert("ab", "xy", 8);
  EXPECT_EQ(table.find(0, 2, 2, 7), 1U);
  EXPECT_EQ(table.find(2, 2, 2, 7), 2U);
  EXPECT_EQ(table.find(0, 2, 3, 7), 3U);
  EXPECT_EQ(table.find(0, 2, 2, 9), 3U);
}

}  // namespace dynamic_table_test
}  // namespace h2server::http::h2::hpack
