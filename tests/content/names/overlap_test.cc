#include "content/names/overlap.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include <thread>

#include "content/support.h"

namespace h2server::content {
namespace overlap_test {

class Overlap : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* const name : {"www/deep/er", "www2", "up/sub", "elsewhere", "mounted"}) {
      std::filesystem::create_directories(around_.path_of(name));
    }
    std::filesystem::create_directory_symlink(around_.path_of("www/deep"), around_.path_of("link"));
  }

  base::Fd open(const std::string& name) const {
    return base::Fd(::open(around_.path_of(name).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  // Checks that the result does not depend on the order.
  bool overlapping(const std::string& one, const std::string& other) const {
    const base::Fd first = open(one);
    const base::Fd second = open(other);
    const bool found = overlap(first.get(), second.get());
    EXPECT_EQ(overlap(second.get(), first.get()), found) << one << " " << other;
    return found;
  }
  bool bind(const std::string& from, const std::string& to) const {
    return ::mount(around_.path_of(from).c_str(), around_.path_of(to).c_str(), nullptr, MS_BIND,
                   nullptr) == 0;
  }

  tests::TemporaryDirectory around_;
};

TEST_F(Overlap, Paths) {
  struct Row {
    std::string one;
    std::string other;
    bool overlapping;
  };
  const std::vector<Row> rows = {
      {"www", "www", true},         {"www", "www/deep", true},     {"www", "www/deep/er", true},
      {"www", "link", true},        {"www/deep", "link/er", true}, {".", "up", true},
      {"www", "up", false},         {"www", "www2", false},        {"www2", "link", false},
      {"www/deep/er", "up", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(overlapping(row.one, row.other), row.overlapping) << row.one << " " << row.other;
  }
}

TEST_F(Overlap, Mounts) {
  bool possible = false;
  std::thread([&] {
    possible = ::unshare(CLONE_FS | CLONE_NEWNS) == 0 &&
               ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    if (!possible) return;
    // The upload directory appears below the root.
    ASSERT_TRUE(bind("up", "www/deep/er"));
    EXPECT_TRUE(overlapping("www", "up"));
    EXPECT_TRUE(overlapping("www", "up/sub"));
    EXPECT_FALSE(overlapping("www", "elsewhere"));
    ASSERT_EQ(::umount(around_.path_of("www/deep/er").c_str()), 0);
    EXPECT_FALSE(overlapping("www", "up"));
    // A part of the root appears elsewhere, as the upload directory.
    ASSERT_TRUE(bind("www/deep", "mounted"));
    EXPECT_TRUE(overlapping("www", "mounted"));
    EXPECT_FALSE(overlapping("www2", "mounted"));
    // A separate file system inside the root.
    ASSERT_EQ(::mount("none", around_.path_of("www/deep/er").c_str(), "tmpfs", 0, ""), 0);
    EXPECT_TRUE(overlapping("www", "www/deep/er"));
    EXPECT_FALSE(overlapping("up", "www/deep/er"));
  }).join();
  if (!possible) GTEST_SKIP() << "mounting needs privileges";
}

}  // namespace overlap_test
}  // namespace h2server::content
