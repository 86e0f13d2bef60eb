#include "app/protected_paths.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace h2server::app {
namespace protected_paths_test {

TEST(ProtectedPaths, LieBelowThemselves) {
  EXPECT_TRUE(lies_at_or_below("/a", "/a"));
  EXPECT_TRUE(lies_at_or_below("//a///b", "/a/b/"));
  EXPECT_TRUE(lies_at_or_below("/a", "/"));
  EXPECT_FALSE(lies_at_or_below("/ab", "/a"));
  EXPECT_FALSE(lies_at_or_below("/a", "/a/b"));
}

TEST(ProtectedPaths, AreNoPartOfUploads) {
  config::Site site;
  for (const char* const path : {"/files/a", "//files//a/"}) {
    site.protected_paths = {{.path = path, .user_file = "users"}};
    site.upload_directory = "";
    EXPECT_NO_THROW(check_protected_paths(site)) << path;
    site.upload_directory = "uploads";
    EXPECT_THROW(check_protected_paths(site), std::invalid_argument) << path;
  }
  for (const char* const path : {"/files", "/", "/filesystem/a", "/other"}) {
    site.protected_paths = {{.path = path, .user_file = "users"}};
    EXPECT_NO_THROW(check_protected_paths(site)) << path;
  }
}

}  // namespace protected_paths_test
}  // namespace h2server::app
