#include "observe/top_paths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace h2server::observe {
namespace top_paths_test {

std::vector<TopPath> top(const TopPaths& paths, std::size_t count) {
  return TopPaths::merge(paths.all(), count);
}

TEST(TopPaths, FewAreExact) {
  TopPaths paths;
  for (const char* path : {"/a", "/b", "/a", "/c", "/a", "/b"}) paths.count(path);
  const auto found = top(paths, 10);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].path, "/a");
  EXPECT_EQ(found[0].count, 3U);
  EXPECT_EQ(found[0].error, 0U);
  EXPECT_EQ(found[1].path, "/b");
  EXPECT_EQ(found[2].path, "/c");
  EXPECT_EQ(top(paths, 1).size(), 1U);
  paths.clear();
  EXPECT_TRUE(paths.all().empty());
}

// The bounds of the algorithm hold, and what is requested often is found among 10,000 others.
TEST(TopPaths, ManyAreBounded) {
  TopPaths paths;
  std::map<std::string, std::uint64_t> exact;
  const auto count = [&](const std::string& path) {
    paths.count(path);
    ++exact[path];
  };
  for (int round = 0; round < 10'000; ++round) {
    count("/once/" + std::to_string(round));
    count("/often");
    if (round % 2 == 0) count("/half");
  }
  const auto found = top(paths, 100);
  EXPECT_LE(found.size(), 64U);
  ASSERT_GE(found.size(), 2U);
  EXPECT_EQ(found[0].path, "/often");
  EXPECT_EQ(found[1].path, "/half");
  for (const TopPath& path : found) {
    EXPECT_GE(path.count, exact[path.path]);
    EXPECT_LE(path.count - path.error, exact[path.path]);
  }
}

TEST(TopPaths, SumsUpWorkers) {
  TopPaths first;
  TopPaths second;
  first.count("/a");
  first.count("/b");
  second.count("/b");
  auto all = first.all();
  std::ranges::copy(second.all(), std::back_inserter(all));
  const auto found = TopPaths::merge(all, 5);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].path, "/b");
  EXPECT_EQ(found[0].count, 2U);
}

TEST(TopPaths, LongOnesAreCut) {
  TopPaths paths;
  paths.count(std::string(5000, 'x'));
  paths.count(std::string(6000, 'x'));
  const auto found = top(paths, 5);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].path, std::string(TopPaths::path_bytes_max, 'x'));
}

}  // namespace top_paths_test
}  // namespace h2server::observe
