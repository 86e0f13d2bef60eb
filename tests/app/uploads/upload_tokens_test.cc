#include "app/uploads/upload_tokens.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <set>

#include "content/storage/file_digest.h"
#include "content/support.h"
#include "h2server/test_client.h"

namespace h2server::app {
namespace upload_tokens_test {

using content::AccessMode;
using content::Right;

const std::string digits(64, 'a');

TEST(UploadTokens, Lines) {
  struct Row {
    std::string line;
    AccessMode mode;
    std::uint64_t quota_bytes;
  };
  const std::vector<Row> rows = {
      {"me:{SHA256}" + digits, AccessMode::read, 5},
      {"me:{SHA256}" + digits + ":drop", AccessMode::drop, 5},
      {"me:{SHA256}" + digits + ":read", AccessMode::read, 5},
      {"me:{SHA256}" + digits + ":full:10GB", AccessMode::full, 10'000'000'000},
      {"me:{SHA256}" + digits + "::1KiB", AccessMode::read, 1024},
      {"me:{SHA256}" + digits + ":full:0", AccessMode::full, 0},
      {"# comment\n\n  me:{SHA256}" + std::string(64, 'A') + " \r\n", AccessMode::read, 5},
  };
  const UploadTokenOptions options{.mode = AccessMode::read, .quota_bytes = 5};
  for (const Row& row : rows) {
    const auto tokens = parse_upload_tokens(row.line, options);
    ASSERT_TRUE(tokens) << row.line << ": " << tokens.error();
    ASSERT_EQ(tokens->size(), 1u) << row.line;
    EXPECT_EQ(tokens->front().name, "me");
    EXPECT_EQ(content::hex_digits(tokens->front().digest), digits);
    EXPECT_EQ(tokens->front().mode, row.mode) << row.line;
    EXPECT_EQ(tokens->front().quota_bytes, row.quota_bytes) << row.line;
  }
}

TEST(UploadTokens, WrongLines) {
  const std::string good = "a:{SHA256}" + std::string(64, 'b') + "\n";
  struct Row {
    std::string text;
    std::string begin;
  };
  const std::vector<Row> rows = {
      {"", "1: no token"},
      {"# nothing\n", "1: no token"},
      {good + "me", "2: not NAME:{SHA256}DIGITS"},
      {good + ":{SHA256}" + digits, "2: a token without a name"},
      {good + "me:secret", "2: not NAME:{SHA256}DIGITS"},
      {good + "me:{SHA256}" + digits.substr(1), "2: not NAME:{SHA256}DIGITS"},
      {good + "me:{SHA256}" + digits.substr(1) + "g", "2: not NAME:{SHA256}DIGITS"},
      {good + "me:{SHA256}" + digits + ":write", "2: unknown mode write"},
      {good + "me:{SHA256}" + digits + ":full:much", "2: quota much"},
      {good + "me:{SHA256}" + digits + ":full:1GB:x", "2: more than"},
      {good + "\n" + good, "3: a token that is there already"},
  };
  for (const Row& row : rows) {
    const auto tokens = parse_upload_tokens(row.text, {});
    ASSERT_FALSE(tokens) << row.text;
    EXPECT_TRUE(tokens.error().starts_with(row.begin)) << tokens.error();
    EXPECT_EQ(tokens.error().find(digits), std::string::npos) << tokens.error();
  }
}

TEST(UploadTokens, NewTokensDiffer) {
  std::set<std::string> made;
  for (int i = 0; i < 100; ++i) {
    const std::string token = make_upload_token();
    EXPECT_EQ(token.size(), 32u);
    EXPECT_EQ(token.find_first_not_of("abcdefghijkmnpqrstuvwxyz23456789"), std::string::npos);
    made.insert(token);
  }
  EXPECT_EQ(made.size(), 100u);
}

// With a state directory of the test.
class OpenedTokens : public testing::Test {
 protected:
  OpenedTokens() { ::setenv("XDG_STATE_HOME", folder_.path_of("state").c_str(), 1); }
  ~OpenedTokens() override { ::unsetenv("XDG_STATE_HOME"); }

  int ask(const UploadTokens& tokens, const std::string& token, std::size_t bytes = 1) {
    Server server;
    server.with(content::upload_access(tokens.access(), Right::upload)).put("/", [](Request&) {
      return Response(201);
    });
    TestClient client(server);
    return client
        .send({.method = PUT,
               .fields = {{"Authorization", "Bearer " + token},
                          {"Content-Length", std::to_string(bytes)}}})
        .status;
  }

  tests::TemporaryDirectory folder_;
};

TEST_F(OpenedTokens, ATokenOfThisRun) {
  const auto one = UploadTokens::open({.mode = AccessMode::drop});
  const auto two = UploadTokens::open({.mode = AccessMode::drop});
  ASSERT_TRUE(one && two);
  EXPECT_EQ(ask(*one, one->shown()), 201);
  EXPECT_EQ(ask(*one, two->shown()), 401);
  const auto reads = UploadTokens::open({.mode = AccessMode::read});
  EXPECT_EQ(ask(*reads, reads->shown()), 403);
}

TEST_F(OpenedTokens, AFileIsMadeAndReadAgain) {
  const UploadTokenOptions options{.file = folder_.path_of("tokens")};
  const auto first = UploadTokens::open(options);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->shown().size(), 32u);
  EXPECT_EQ(ask(*first, first->shown()), 201);
  EXPECT_FALSE(folder_.read("tokens")) << "it was not shown yet";
  ASSERT_TRUE(keep_digest({.token = first->shown(), .file = options.file}));
  const auto second = UploadTokens::open(options);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->shown(), "") << "nobody knows it any more";
  EXPECT_EQ(ask(*second, first->shown()), 201);
  EXPECT_EQ(folder_.read("tokens")->find(first->shown()), std::string::npos);
  struct stat status{};
  ASSERT_EQ(::stat(options.file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(OpenedTokens, QuotasOfAFileAreKept) {
  const UploadTokenOptions options{.file = folder_.path_of("tokens"), .quota_bytes = 10};
  const auto first = UploadTokens::open(options);
  ASSERT_TRUE(first);
  ASSERT_TRUE(keep_digest({.token = first->shown(), .file = options.file}));
  EXPECT_EQ(ask(*first, first->shown(), 6), 201);
  const auto second = UploadTokens::open(options);
  ASSERT_TRUE(second);
  EXPECT_EQ(ask(*second, first->shown(), 5), 413);
  EXPECT_EQ(ask(*second, first->shown(), 4), 201);
}

TEST_F(OpenedTokens, NothingIsReplaced) {
  folder_.write("tokens", "here");
  EXPECT_FALSE(keep_digest({.token = "t", .file = folder_.path_of("tokens")}));
  EXPECT_EQ(folder_.read("tokens"), "here");
  EXPECT_FALSE(keep_digest({.token = "t", .file = folder_.path_of("tokens/below")}));
  EXPECT_TRUE(keep_digest({.token = "t"}));
}

TEST_F(OpenedTokens, WrongFiles) {
  folder_.write("tokens", "me:secret\n");
  const auto opened = UploadTokens::open({.file = folder_.path_of("tokens")});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().status, 2);
  EXPECT_TRUE(opened.error().text.starts_with(folder_.path_of("tokens") + ":1: "))
      << opened.error().text;
  EXPECT_EQ(UploadTokens::open({.file = folder_.path()}).error().status, 1);
  EXPECT_EQ(check_upload_tokens(folder_.path_of("tokens")).error(), opened.error().text);
  EXPECT_FALSE(check_upload_tokens(folder_.path()));
  EXPECT_TRUE(check_upload_tokens(folder_.path_of("absent")));
  EXPECT_FALSE(folder_.read("absent"));
}

TEST_F(OpenedTokens, WrongTokensAreLimited) {
  const auto tokens = UploadTokens::open({});
  ASSERT_TRUE(tokens);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask(*tokens, "wrong"), 401);
  EXPECT_EQ(ask(*tokens, "wrong"), 429);
  EXPECT_EQ(ask(*tokens, tokens->shown()), 429);
}

TEST(UploadTokens, Url) {
  EXPECT_EQ(url_with_token("https://host:8443/", "abc"), "https://host:8443/files?token=abc");
}

}  // namespace upload_tokens_test
}  // namespace h2server::app
