#include "file/whole_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "content/support.h"

namespace h2server::file {
namespace whole_file_test {

TEST(WholeFile, IsReadUpToALimit) {
  tests::TemporaryDirectory directory;
  const std::string large(200'000, 'x');
  directory.write("large", large);
  directory.write("empty", "");
  EXPECT_EQ(read_whole_file(directory.path_of("large"), large.size()), large);
  EXPECT_EQ(read_whole_file(directory.path_of("empty"), 0), "");
  EXPECT_EQ(read_whole_file(directory.path_of("large"), large.size() - 1).error(), EFBIG);
}

TEST(WholeFile, IsARegularFile) {
  tests::TemporaryDirectory directory;
  ASSERT_EQ(::mkfifo(directory.path_of("fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_whole_file(directory.path_of("fifo"), 10).error(), ENOTSUP);
  EXPECT_EQ(read_whole_file(directory.path_of(""), 10).error(), ENOTSUP);
  EXPECT_EQ(read_whole_file(directory.path_of("missing"), 10).error(), ENOENT);
}

}  // namespace whole_file_test
}  // namespace h2server::file
