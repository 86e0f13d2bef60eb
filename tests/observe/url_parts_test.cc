#include "observe/url_parts.h"

#include <gtest/gtest.h>

#include <string>

namespace h2server::observe {
namespace url_parts_test {

TEST(UrlParts, UserInformationIsLeftOut) {
  struct Row {
    std::string_view url;
    std::string_view scheme;
    std::string_view rest;
  };
  for (const Row& row : {
           Row{"", "", ""},
           Row{"/x", "", "/x"},
           Row{"https://host/x", "", "https://host/x"},
           Row{"https://user:password@host/x?y", "https://", "host/x?y"},
           Row{"https://user@host", "https://", "host"},
           Row{"https://a@b@host/", "https://", "host/"},
           Row{"https://a:\\b@host/", "https://", "host/"},
           Row{"//user:password@host/x", "//", "host/x"},
           Row{"user:password@host:443", "", "host:443"},
           Row{"https://host/@x", "", "https://host/@x"},
           Row{"https://host?a=b@c", "", "https://host?a=b@c"},
           Row{"https://host#b@c", "", "https://host#b@c"},
           Row{"/x//u@host", "", "/x//u@host"},
           Row{"/x?u=http://a:b@c/", "", "/x?u=http://a:b@c/"},
           Row{"?u=http://a:b@c/", "", "?u=http://a:b@c/"},
       }) {
    const PublicUrl found = without_user_info(row.url);
    EXPECT_EQ(found.scheme, row.scheme) << row.url;
    EXPECT_EQ(found.rest, row.rest) << row.url;
  }
}

// The secret is gone even if what is in front of it is not what a scheme looks like.
TEST(UrlParts, ALongSchemeGoesToo) {
  const std::string url = std::string(100, 'a') + "://user:password@host/";
  const PublicUrl found = without_user_info(url);
  EXPECT_EQ(found.scheme, "");
  EXPECT_EQ(found.rest, "host/");
}

TEST(UrlParts, TargetsOfEachForm) {
  struct Row {
    std::string_view target;
    std::string_view path;
    std::string_view query;
  };
  for (const Row& row : {
           Row{"/", "/", ""},
           Row{"/x?", "/x", ""},
           Row{"/x?a?b", "/x", "a?b"},
           Row{"//x?y", "//x", "y"},
           Row{"*", "*", ""},
           Row{"host:443", "host:443", ""},
           Row{"user:password@host:443", "host:443", ""},
           Row{"http://host", "/", ""},
           Row{"http://host/x?y", "/x", "y"},
           Row{"http://host?y", "/", "y"},
           Row{"http://user:password@host/x?y", "/x", "y"},
           Row{"x?y", "x", "y"},
       }) {
    const PathAndQuery parts = split_target(row.target);
    EXPECT_EQ(parts.path, row.path) << row.target;
    EXPECT_EQ(parts.query, row.query) << row.target;
  }
}

TEST(UrlParts, Authorities) {
  struct Row {
    std::string_view authority;
    std::string_view host;
    std::string_view port;
  };
  for (const Row& row : {
           Row{"", "", ""},
           Row{"example.org", "example.org", ""},
           Row{"example.org:8080", "example.org", "8080"},
           Row{"example.org:", "example.org:", ""},
           Row{"example.org:08", "example.org:08", ""},  // a JSON number has no zero in front
           Row{"example.org:123456", "example.org:123456", ""},
           Row{"example.org:8a", "example.org:8a", ""},
           Row{"[::1]:443", "::1", "443"},
           Row{"[::1]", "::1", ""},
           Row{"::1", "::1", ""},
           Row{"[", "[", ""},
           Row{"user:password@example.org:80", "example.org", "80"},
       }) {
    const HostAndPort parts = split_authority(row.authority);
    EXPECT_EQ(parts.host, row.host) << row.authority;
    EXPECT_EQ(parts.port, row.port) << row.authority;
  }
}

}  // namespace url_parts_test
}  // namespace h2server::observe
