#include "content/uploads/access/upload_usage.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "content/support.h"

namespace h2server::content {
namespace upload_usage_test {

UploadUsage::Digest digest_of(unsigned number) {
  UploadUsage::Digest digest{};
  digest[0] = 1;
  digest[1] = static_cast<unsigned char>(number >> 8);
  digest[2] = static_cast<unsigned char>(number);
  return digest;
}

TEST(UploadUsage, HasRoomForSoMany) {
  auto usage = UploadUsage::in_memory();
  ASSERT_TRUE(usage);
  for (unsigned i = 0; i < UploadUsage::tokens_max; ++i)
    ASSERT_NE(usage->find(digest_of(i)), nullptr);
  EXPECT_EQ(usage->find(digest_of(UploadUsage::tokens_max)), nullptr);
  EXPECT_NE(usage->find(digest_of(0)), nullptr);
}

TEST(UploadUsage, AFileKeepsThem) {
  const tests::TemporaryDirectory folder;
  const std::string path = folder.path_of("usage");
  {
    auto usage = UploadUsage::open(path);
    ASSERT_TRUE(usage);
    *usage->find(digest_of(1)) += 5;
    auto other = UploadUsage::open(path);  // of another server
    ASSERT_TRUE(other);
    *other->find(digest_of(1)) += 5;
    *other->find(digest_of(2)) += 1;
  }
  auto usage = UploadUsage::open(path);
  ASSERT_TRUE(usage);
  EXPECT_EQ(*usage->find(digest_of(2)), 1u);
  EXPECT_EQ(*usage->find(digest_of(1)), 10u);
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(UploadUsage, ProcessesShareThem) {
  auto usage = UploadUsage::in_memory();
  ASSERT_TRUE(usage);
  UploadUsage::Counter* const counter = usage->find(digest_of(1));
  const pid_t child = ::fork();
  if (child == 0) {
    *counter += 3;
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(*counter, 3u);
}

TEST(UploadUsage, RefusesOtherFiles) {
  const tests::TemporaryDirectory folder;
  folder.write("short", "something");
  EXPECT_EQ(UploadUsage::open(folder.path_of("short")).error(), EINVAL);
  ASSERT_TRUE(UploadUsage::open(folder.path_of("usage")));
  std::string other = *folder.read("usage");
  other[0] = 'x';
  folder.write("other", other);
  EXPECT_EQ(UploadUsage::open(folder.path_of("other")).error(), EINVAL);
  EXPECT_EQ(folder.read("other"), other);
  EXPECT_EQ(UploadUsage::open(folder.path_of("no/where")).error(), ENOENT);
  EXPECT_EQ(UploadUsage::open(folder.path()).error(), EISDIR);
}

}  // namespace upload_usage_test
}  // namespace h2server::content
