#include "content/uploads/area/upload_directory.h"

#include "content/support.h"

namespace h2server::content {
namespace upload_directory_test {

TEST(UploadDirectory, IsSharedWhileSomebodyHoldsIt) {
  const tests::TemporaryDirectory directory;
  const tests::TemporaryDirectory other;
  directory.write("h2_tmp_1_2_0", "of a killed server");
  auto first = *UploadDirectory::share(directory.fd());
  EXPECT_EQ(directory.names(), std::vector<std::string>{});
  ASSERT_TRUE(first->locks().add({.path = "a"}, 0));
  EXPECT_EQ(*UploadDirectory::share(directory.fd()), first);
  EXPECT_NE(*UploadDirectory::share(other.fd()), first);
  EXPECT_NE(*UploadDirectory::open(directory.fd()), first);
  first.reset();
  EXPECT_EQ((*UploadDirectory::share(directory.fd()))->locks().covering("a", 0).size(), 0U);
  EXPECT_EQ(UploadDirectory::share(-1).error(), EBADF);
}

}  // namespace upload_directory_test
}  // namespace h2server::content
