#include "app/system/mime_types.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "content/support.h"

namespace h2server::app {
namespace mime_types_test {

using Types = std::map<std::string, std::string>;

class MimeTypesFile : public testing::Test {
 protected:
  // Returns what is logged, and stores the types.
  std::string read(const std::string& name) {
    testing::internal::CaptureStderr();
    types_ = read_mime_types(directory_.path_of(name));
    return testing::internal::GetCapturedStderr();
  }

  tests::TemporaryDirectory directory_;
  Types types_;
};

TEST_F(MimeTypesFile, IsRead) {
  directory_.write("types", "application/x-a a\ntext/html html\n");
  EXPECT_EQ(read("types"), "");
  EXPECT_EQ(types_, (Types{{"a", "application/x-a"}}));
}

TEST_F(MimeTypesFile, MayBeMissing) {
  directory_.write("file", "");
  for (const char* const name : {"none", "file/none"}) {
    EXPECT_EQ(read(name), "");
    EXPECT_TRUE(types_.empty());
  }
}

TEST_F(MimeTypesFile, IsIgnoredIfItIsNone) {
  ASSERT_EQ(::mkfifo(directory_.path_of("fifo").c_str(), 0600), 0);
  for (const char* const name : {"fifo", "."}) {
    EXPECT_NE(read(name).find("it is not a regular file"), std::string::npos);
    EXPECT_TRUE(types_.empty());
  }
}

TEST_F(MimeTypesFile, IsIgnoredIfItIsTooLarge) {
  std::string text = "application/x-a a\n";
  text.resize(1 << 20, '\n');
  directory_.write("types", text);
  EXPECT_EQ(read("types"), "");
  EXPECT_EQ(types_.size(), 1U);
  directory_.write("types", text + "\n");
  EXPECT_NE(read("types").find("it has more than 1 MiB"), std::string::npos);
  EXPECT_TRUE(types_.empty());
}

}  // namespace mime_types_test
}  // namespace h2server::app
