#include "config/nearest.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

namespace h2server::config {
namespace nearest_test {

constexpr std::array<std::string_view, 6> names{"port",       "threads", "root",
                                                "upload-max", "io",      "h2"};

TEST(Nearest, IsFound) {
  EXPECT_EQ(nearest_of("prot", names), "port");
  EXPECT_EQ(nearest_of("threds", names), "threads");
  EXPECT_EQ(nearest_of("thread", names), "threads");
  EXPECT_EQ(nearest_of("uploadmax", names), "upload-max");
  EXPECT_EQ(nearest_of("upload_max", names), "upload-max");
  EXPECT_EQ(nearest_of("roots", names), "root");
  EXPECT_EQ(nearest_of("port", names), "port");
}

TEST(Nearest, IsNoGuess) {
  EXPECT_EQ(nearest_of("", names), "");
  EXPECT_EQ(nearest_of("x", names), "");
  EXPECT_EQ(nearest_of("certificate", names), "");
  EXPECT_EQ(nearest_of("rats", names), "");
  EXPECT_EQ(nearest_of(std::string(100'000, 'p'), names), "");
}

}  // namespace nearest_test
}  // namespace h2server::config
