#include "content/files/folder_entries.h"

#include <utility>

#include "content/support.h"

namespace h2server::content {
namespace folder_entries_test {

class FolderEntriesTest : public testing::Test {
 protected:
  std::vector<std::string> names(const ReadFolderOptions& options = {}) {
    Result<FolderEntries, int> read = read_folder(directory_.fd(), "", directory_.fd(), options);
    EXPECT_TRUE(read);
    read_ = std::move(read).value_or(FolderEntries());
    std::vector<std::string> found;
    for (const FolderEntry& entry : read_.entries) {
      found.push_back(entry.name + (entry.is_folder ? "/" : ""));
    }
    return found;
  }
  std::vector<std::string> selected(const Selection& selection) {
    std::vector<std::string> found;
    for (const std::uint32_t index : select(read_, selection)) {
      found.push_back(read_.entries[index].name);
    }
    return found;
  }

  tests::TemporaryDirectory directory_;
  FolderEntries read_;
};

using Names = std::vector<std::string>;

TEST_F(FolderEntriesTest, FoldersFirstThenByName) {
  for (const char* const name : {"b", "a", "C", "file 10", "file 9", "file 09", "z/x", "Y/x"}) {
    directory_.write(name, "");
  }
  EXPECT_EQ(names(), (Names{"Y/", "z/", "a", "b", "C", "file 09", "file 9", "file 10"}));
  EXPECT_EQ(read_.folders, 2U);
}

TEST_F(FolderEntriesTest, SizesAndTimes) {
  directory_.write("a", "12345");
  directory_.write("b", "123");
  directory_.set_modified("a", 784111777);
  EXPECT_EQ(names(), (Names{"a", "b"}));
  EXPECT_EQ(read_.entries[0].size, 5U);
  EXPECT_EQ(read_.entries[0].modified_s, 784111777);
  EXPECT_EQ(read_.bytes, 8U);
  EXPECT_FALSE(read_.incomplete);
}

TEST_F(FolderEntriesTest, OnlyFilesAndFoldersThatAreServed) {
  directory_.write("file", "");
  directory_.write("folder/inside", "");
  directory_.write(".hidden", "");
  directory_.write("tmp_1", "");
  const auto link = [this](const char* target, const char* name) {
    ASSERT_EQ(::symlink(target, directory_.path_of(name).c_str()), 0);
  };
  link("file", "link");
  link("folder", "link_to_folder");
  link("/etc/passwd", "link_out");
  link("../../../etc/passwd", "link_up");
  link("nothing", "link_to_nothing");
  link("link_to_itself", "link_to_itself");
  ASSERT_EQ(::mkfifo(directory_.path_of("fifo").c_str(), 0644), 0);
  EXPECT_EQ(names({.skip = "tmp_"}), (Names{"folder/", "link_to_folder/", "file", "link"}));
  EXPECT_EQ(names({.hidden = true, .folders = false, .follow = false}),
            (Names{".hidden", "file", "tmp_1"}));
}

TEST_F(FolderEntriesTest, LinksAreResolvedFromTheRoot) {
  directory_.write("top", "top");
  directory_.write("sub/own", "");
  ASSERT_EQ(::symlink("../top", directory_.path_of("sub/link").c_str()), 0);
  const base::Fd sub(::openat(directory_.fd(), "sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto read = read_folder(directory_.fd(), "sub/", sub.get(), {});
  ASSERT_TRUE(read);
  ASSERT_EQ(read->entries.size(), 2U);
  EXPECT_EQ(read->entries[0].name, "link");
  EXPECT_EQ(read->entries[0].size, 3U);
}

TEST_F(FolderEntriesTest, Selections) {
  directory_.write("a", "333");
  directory_.write("B", "1");
  directory_.write("c", "1");
  directory_.write("ab/x", "");
  directory_.set_modified("a", 3);
  directory_.set_modified("B", 2);
  directory_.set_modified("c", 1);
  names();
  EXPECT_EQ(selected({}), (Names{"ab", "a", "B", "c"}));
  EXPECT_EQ(selected({.descending = true, .filter = {}}), (Names{"ab", "c", "B", "a"}));
  EXPECT_EQ(selected({.key = SortKey::size, .filter = {}}), (Names{"ab", "B", "c", "a"}));
  EXPECT_EQ(selected({.key = SortKey::size, .descending = true, .filter = {}}),
            (Names{"ab", "a", "B", "c"}));
  EXPECT_EQ(selected({.key = SortKey::modified, .filter = {}}), (Names{"ab", "c", "B", "a"}));
  EXPECT_EQ(selected({.filter = "b"}), (Names{"ab", "B"}));
  EXPECT_EQ(selected({.filter = "none"}), Names());
}

TEST(NameBefore, IsAnOrder) {
  const std::vector<std::string> ordered = {"",
                                            "-",
                                            "0",
                                            "00",
                                            "1",
                                            "01",
                                            "1a",
                                            "2",
                                            "9",
                                            "10",
                                            "99999999999999999999",
                                            "100000000000000000000",
                                            "A",
                                            "a",
                                            "a1",
                                            "a 1x",
                                            "b"};
  std::vector<std::string> sorted = ordered;
  std::ranges::sort(sorted, name_before);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    EXPECT_FALSE(name_before(sorted[i], sorted[i]));
    for (std::size_t j = i + 1; j < sorted.size(); ++j) {
      EXPECT_TRUE(name_before(sorted[i], sorted[j])) << sorted[i] << " and " << sorted[j];
      EXPECT_FALSE(name_before(sorted[j], sorted[i]));
    }
  }
  EXPECT_TRUE(name_before("file 9", "file 10"));
  EXPECT_TRUE(name_before("99999999999999999999", "100000000000000000000"));
  EXPECT_TRUE(name_before("a", "B"));
  EXPECT_TRUE(name_before("A", "a"));
}

TEST_F(FolderEntriesTest, Errors) {
  EXPECT_EQ(read_folder(-1, "", -1, {}).error(), EBADF);
  const tests::LoweredLimit limit(RLIMIT_NOFILE, tests::descriptors_in_use());
  EXPECT_EQ(read_folder(directory_.fd(), "", directory_.fd(), {}).error(), EMFILE);
}

}  // namespace folder_entries_test
}  // namespace h2server::content
