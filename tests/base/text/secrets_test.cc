#include "base/text/secrets.h"

#include <gtest/gtest.h>

#include <string>

namespace h2server::base {
namespace secrets_test {

TEST(Secrets, AreHiddenInAnySpelling) {
  struct Row {
    const char* url;
    const char* shown;
  };
  constexpr Row rows[] = {
      {"", ""},
      {"/token=a", "/token=a"},
      {"/a?", "/a?"},
      {"/a?token", "/a?token"},
      {"/a?token=", "/a?token=***"},
      {"/a?token=secret", "/a?token=***"},
      {"/a?x=1&token=secret&y=2", "/a?x=1&token=***&y=2"},
      {"/a?token=one&token=two", "/a?token=***&token=***"},
      {"/a?%74oken=secret", "/a?%74oken=***"},
      {"/a?%54OKen=secret;x", "/a?%54OKen=***"},
      {"/a?to%6Ben=a=b", "/a?to%6Ben=***"},
      {"/a?xtoken=1&tokens=2&toke=3&tok%zzen=4", "/a?xtoken=1&tokens=2&toke=3&tok%zzen=4"},
      {"/a?access_token=s", "/a?access_token=***"},
      {"/a?expires=1&signature=s", "/a?expires=1&signature=***"},
      {"http://h/a?token=s#f", "http://h/a?token=***#f"},
      {"http://h/a#f?token=s", "http://h/a#f?token=***"},
      {"/a?b?token=s", "/a?b?token=s"},
      {"?&&token=s&&", "?&&token=***&&"},
  };
  std::string room = "of before";
  for (const Row& row : rows) EXPECT_EQ(hide_secrets(row.url, room), row.shown);
}

}  // namespace secrets_test
}  // namespace h2server::base
