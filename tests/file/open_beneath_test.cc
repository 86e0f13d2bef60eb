#include "file/open_beneath.h"

#include "content/support.h"

namespace h2server::file {
namespace open_beneath_test {

using tests::run_now;
using tests::TemporaryDirectory;

// Opens files in root/. Files beside root/ must be unreachable.
class OpenBeneath : public testing::Test {
 protected:
  OpenBeneath() {
    around_.write("secret.txt", "secret");
    around_.write("root/a.txt", "a");
    around_.write("root/sub/b.txt", "b");
    link("../secret.txt", "root/link_out");
    link("../../secret.txt", "root/sub/link_out");
    link("..", "root/link_to_parent");
    link("sub/b.txt", "root/link_in");
    link("../a.txt", "root/sub/link_up_and_in");
    link("sub", "root/link_to_sub");
    link(around_.path_of("root/a.txt"), "root/absolute_in");
    link("/etc/passwd", "root/absolute_out");
    link("link_b", "root/link_a");
    link("link_a", "root/link_b");
    link("/proc/self/cwd", "root/magic");
    link("gone", "root/dangling");
    EXPECT_EQ(::mkfifo(around_.path_of("root/fifo").c_str(), 0644), 0);
    root_ = base::Fd(::open(around_.path_of("root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    EXPECT_TRUE(root_.valid());
  }

  void link(const std::string& to, const std::string& name) {
    EXPECT_EQ(::symlink(to.c_str(), around_.path_of(name).c_str()), 0) << name;
  }

  // Returns the content, or the error's name.
  std::string open(std::string_view path, int flags = O_RDONLY) {
    const Result<base::Fd, int> opened = run_now(open_beneath(nullptr, root_.get(), path, flags));
    if (!opened) return ::strerrorname_np(opened.error());
    std::string content(100, '\0');
    const ssize_t count = ::read(opened->get(), content.data(), content.size());
    if (count < 0) return std::string("read: ") + ::strerrorname_np(errno);
    content.resize(static_cast<std::size_t>(count));
    return content;
  }

  TemporaryDirectory around_;
  base::Fd root_;
};

TEST_F(OpenBeneath, Table) {
  struct Row {
    std::string_view path;
    std::string expected;
  };
  const std::vector<Row> rows = {
      {"a.txt", "a"},
      {"/a.txt", "a"},
      {"///a.txt", "a"},
      {"sub/b.txt", "b"},
      {"sub//b.txt", "b"},
      {"sub/../a.txt", "a"},  // stays inside
      {"./a.txt", "a"},
      {"gone.txt", "ENOENT"},
      {"a.txt/", "ENOTDIR"},
      {"a.txt/x", "ENOTDIR"},
      {"../secret.txt", "ENOENT"},
      {"/../secret.txt", "ENOENT"},
      {"sub/../../secret.txt", "ENOENT"},
      {"..", "ENOENT"},
      {"link_out", "ENOENT"},
      {"sub/link_out", "ENOENT"},
      {"link_to_parent", "ENOENT"},
      {"link_to_parent/secret.txt", "ENOENT"},
      {"link_to_parent/root/a.txt", "ENOENT"},  // leaves the root, even though it comes back
      {"link_in", "b"},
      {"sub/link_up_and_in", "a"},
      {"link_to_sub/b.txt", "b"},
      {"absolute_in", "ENOENT"},
      {"absolute_out", "ENOENT"},
      {"link_a", "ELOOP"},
      {"dangling", "ENOENT"},
      {"", "read: EISDIR"},
      {"/", "read: EISDIR"},
      {".", "read: EISDIR"},
      {"sub", "read: EISDIR"},
  };
  for (const Row& row : rows) EXPECT_EQ(open(row.path), row.expected) << row.path;
}

TEST_F(OpenBeneath, MagicLinksLeadNowhere) {
  EXPECT_EQ(open("magic/passwd").substr(0, 1), "E");
  const base::Fd proc(::open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!proc.valid()) GTEST_SKIP() << "no /proc";
  const auto opened = run_now(open_beneath(nullptr, proc.get(), "root", O_RDONLY));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error(), ELOOP);
}

TEST_F(OpenBeneath, NamesThatAreTooLong) {
  EXPECT_EQ(open(std::string(256, 'a')), "ENAMETOOLONG");
  EXPECT_EQ(open(std::string(5000, 'a')), "ENAMETOOLONG");
}

// The FIFO has no writer, so an ordinary open would block.
TEST_F(OpenBeneath, FifoDoesNotBlock) { EXPECT_EQ(open("fifo"), ""); }

TEST_F(OpenBeneath, DescriptorsAreClosedOnExec) {
  const auto opened = run_now(open_beneath(nullptr, root_.get(), "a.txt", O_RDONLY));
  ASSERT_TRUE(opened);
  EXPECT_EQ(::fcntl(opened->get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_EQ(::fcntl(opened->get(), F_GETFL) & O_NONBLOCK, O_NONBLOCK);
}

TEST_F(OpenBeneath, FlagsArePassedOn) {
  EXPECT_EQ(open("a.txt", O_RDONLY | O_DIRECTORY), "ENOTDIR");
  EXPECT_EQ(open("link_in", O_RDONLY | O_NOFOLLOW), "ELOOP");
  EXPECT_EQ(open("fifo", O_PATH), "read: EBADF");
  EXPECT_EQ(open("link_out", O_PATH | O_NOFOLLOW), "read: EBADF");  // the link itself
  EXPECT_EQ(open("link_out", O_PATH), "ENOENT");
}

TEST_F(OpenBeneath, ErrorsOfTheDirectory) {
  const auto opened = run_now(open_beneath(nullptr, -1, "a.txt", O_RDONLY));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error(), EBADF);
}

}  // namespace open_beneath_test
}  // namespace h2server::file
