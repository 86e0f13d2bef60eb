#include "app/system/folder_watch.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <filesystem>
#include <string>

#include "content/support.h"

namespace h2server::app {
namespace folder_watch_test {

namespace fs = std::filesystem;

class Watched : public testing::Test {
 protected:
  Watched() {
    for (const char* const name : {"one", "two", "dist"}) fs::create_directory(path(name));
    fs::create_directory_symlink("one", path("link"));
  }

  [[nodiscard]] std::string path(const std::string& name) const { return directory_.path_of(name); }
  void switch_link(const std::string& target) const {
    fs::create_directory_symlink(target, path("next"));
    fs::rename(path("next"), path("link"));
  }

  tests::TemporaryDirectory directory_;
};

TEST_F(Watched, FoldersThatAreReplacedAreFoundOnce) {
  WatchedFolders folders({path("dist"), path("link")});
  EXPECT_EQ(folders.find_replaced(), "");
  switch_link("two");
  EXPECT_EQ(folders.find_replaced(), path("link"));
  EXPECT_EQ(folders.find_replaced(), "");
  switch_link("two");
  EXPECT_EQ(folders.find_replaced(), "") << "the same folder";
  switch_link("one");
  EXPECT_EQ(folders.find_replaced(), path("link"));
}

TEST_F(Watched, FoldersThatAreAwayMayComeAgain) {
  WatchedFolders folders({path("dist"), path("later")});
  fs::rename(path("dist"), path("away"));
  EXPECT_EQ(folders.find_replaced(), "");
  directory_.write("dist", "a file");
  EXPECT_EQ(folders.find_replaced(), "");
  fs::remove(path("dist"));
  fs::rename(path("away"), path("dist"));
  EXPECT_EQ(folders.find_replaced(), "") << "it is the one that was there";
  fs::rename(path("two"), path("later"));
  EXPECT_EQ(folders.find_replaced(), path("later"));
  fs::remove(path("dist"));
  fs::create_directory(path("away"));  // may take the inode
  fs::create_directory(path("dist"));
  EXPECT_EQ(folders.find_replaced(), path("dist"));
}

TEST_F(Watched, FoldersThatTheServerMakesAreNotReplaced) {
  WatchedFolders folders({path("made"), path("link")});
  fs::create_directory(path("made"));
  switch_link("two");
  folders.take_made();
  EXPECT_EQ(folders.find_replaced(), path("link"));
  EXPECT_EQ(folders.find_replaced(), "");
}

TEST_F(Watched, TheThreadTells) {
  FolderWatch watch;
  EXPECT_EQ(watch.descriptor(), -1);
  ASSERT_TRUE(watch.start().has_value());
  watch.watch(WatchedFolders({path("link")}));
  switch_link("two");
  pollfd told{.fd = watch.descriptor(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&told, 1, 60'000), 1);
  EXPECT_EQ(watch.take_replaced(), path("link"));
  EXPECT_EQ(watch.take_replaced(), "");
  EXPECT_EQ(::poll(&told, 1, 0), 0);
}

}  // namespace folder_watch_test
}  // namespace h2server::app
