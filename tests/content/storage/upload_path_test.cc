#include "content/storage/upload_path.h"

#include <sys/stat.h>

#include "content/support.h"

namespace h2server::content {
namespace upload_path_test {

using Names = std::vector<std::string>;

constexpr const char* none = nullptr;

TEST(UploadPath, SafePaths) {
  struct Row {
    std::string claimed;
    const char* name;  // without folders
    const char* path;  // with folders
  };
  const std::vector<Row> rows = {
      {"", none, none},
      {"a.txt", "a.txt", "a.txt"},
      {"a b", "a b", "a b"},
      {" a ", "a", "a"},
      {".a", "a", "a"},
      {"..", none, none},
      {"h2_tmp_1", none, none},
      {"a/b", "b", "a/b"},
      {"a/b/c.txt", "c.txt", "a/b/c.txt"},
      {" a /b. /c", "c", "a/b/c"},
      {"a\\b", "b", "b"},
      {"x\\a/y\\b", "b", "a/b"},
      {"a\x01/b\x7f", "b", "a/b"},
      {"\xff/b", "b", "_/b"},
      // With several segments, none may be empty, hidden or temporary.
      {"/a", "a", none},
      {"a/", none, none},
      {"/", none, none},
      {"a//b", "b", none},
      {"a/ /b", "b", none},
      {"./a", "a", none},
      {"../a", "a", none},
      {"a/..", none, none},
      {"a/../b", "b", none},
      {"a/./b", "b", none},
      {"a/.b", "b", none},
      {".a/b", "b", none},
      {"a/...", none, none},
      {"h2_tmp_1/b", "b", none},
      {"a/h2_tmp_1", none, none},
      {"x\\h2_tmp_1/b", "b", none},
  };
  for (const Row& row : rows) {
    const auto name = safe_upload_path(row.claimed, false);
    const auto path = safe_upload_path(row.claimed, true);
    EXPECT_EQ(name.value_or("-"), row.name != nullptr ? row.name : "-") << row.claimed;
    EXPECT_EQ(path.value_or("-"), row.path != nullptr ? row.path : "-") << row.claimed;
    if (path) {
      EXPECT_EQ(safe_upload_path(*path, true), path) << "it changes again";
    }
  }
}

TEST(UploadPath, Limits) {
  std::string most = "a";
  while (std::ranges::count(most, '/') + 1 <
         static_cast<std::ptrdiff_t>(UploadPathLimits::segments_max)) {
    most += "/a";
  }
  EXPECT_EQ(safe_upload_path(most, true), most);
  EXPECT_EQ(safe_upload_path(most + "/a", true), std::nullopt);
  const std::string segment(200, 'a');
  std::string longest = segment;
  while (longest.size() + 1 + segment.size() <= UploadPathLimits::bytes_max) {
    longest += "/" + segment;
  }
  EXPECT_EQ(safe_upload_path(longest, true), longest);
  EXPECT_EQ(safe_upload_path(longest + "/" + segment, true), std::nullopt);
}

class UploadParentTest : public testing::Test {
 protected:
  // Returns 0 or the errno value.
  int open(const std::string& path, bool create) {
    Result<UploadParent, int> parent = open_upload_parent(directory_.fd(), path, create);
    if (!parent) return parent.error();
    name_ = parent->name;
    made_ = parent->made;
    const base::Fd file(::openat(parent->directory.get(), "probe", O_CREAT | O_WRONLY, 0644));
    EXPECT_TRUE(file.valid());
    return 0;
  }

  tests::TemporaryDirectory directory_;
  std::string name_;
  Names made_;
};

TEST_F(UploadParentTest, OpensAndMakesFolders) {
  EXPECT_EQ(open("f", false), 0);
  EXPECT_EQ(name_, "f");
  EXPECT_EQ(made_, Names{});
  EXPECT_TRUE(directory_.read("probe"));
  EXPECT_EQ(open("a/f", false), ENOENT);
  EXPECT_EQ(open("a/b/f", true), 0);
  EXPECT_EQ(name_, "f");
  EXPECT_EQ(made_, (Names{"a", "a/b"}));
  EXPECT_TRUE(directory_.read("a/b/probe"));
  EXPECT_EQ(open("a/c/f", true), 0);
  EXPECT_EQ(made_, (Names{"a/c"}));
  EXPECT_EQ(open("a/f", true), 0);
  EXPECT_EQ(made_, Names{});
  EXPECT_EQ(open("a/b/", false), 0);
  EXPECT_EQ(name_, "");
}

TEST_F(UploadParentTest, FollowsNoLinksAndLeavesNothing) {
  const tests::TemporaryDirectory outside;
  directory_.write("file", "");
  directory_.write("folder/x", "");
  ASSERT_EQ(::symlinkat(outside.path().c_str(), directory_.fd(), "out"), 0);
  ASSERT_EQ(::symlinkat("folder", directory_.fd(), "in"), 0);
  ASSERT_EQ(::symlinkat("nowhere", directory_.fd(), "dangling"), 0);
  for (const bool create : {false, true}) {
    for (const std::string name : {"file", "out", "in", "dangling"}) {
      EXPECT_EQ(open(name + "/f", create), ENOTDIR) << name;
      EXPECT_EQ(open(name + "/a/f", create), ENOTDIR) << name;
    }
    EXPECT_EQ(open("folder/x/f", create), ENOTDIR);
  }
  const Names before = directory_.names();
  EXPECT_EQ(open("new/" + std::string(256, 'x') + "/f", true), ENAMETOOLONG);
  EXPECT_EQ(directory_.names(), before) << "what was made is removed";
  EXPECT_EQ(outside.names(), Names{});
}

TEST_F(UploadParentTest, RemovesOnlyEmptyFolders) {
  ASSERT_TRUE(open_upload_parent(directory_.fd(), "a/b/c/f", true));
  directory_.write("a/kept", "");
  remove_made_folders(directory_.fd(), {"a", "a/b", "a/b/c"});
  EXPECT_EQ(directory_.names(), Names{"a"});
  EXPECT_TRUE(directory_.read("a/kept"));
  EXPECT_FALSE(std::filesystem::exists(directory_.path_of("a/b")));
}

}  // namespace upload_path_test
}  // namespace h2server::content
