#include "app/tools/link_command.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "app/tools/link_key.h"
#include "content/support.h"

namespace h2server::app {
namespace link_command_test {

using content::LinkSigner;
using content::LinkUse;
using content::LinkVerdict;
using std::chrono::seconds;

LinkSigner::Key key_of(unsigned char byte) {
  LinkSigner::Key key;
  key.fill(byte);
  return key;
}

TEST(LinkCommand, Options) {
  struct Row {
    std::vector<std::string> arguments;
    std::string target;
    seconds valid_for;
    LinkUse use;
  };
  using enum LinkUse;
  const std::vector<Row> rows = {
      {{"/a"}, "/a", seconds(86'400), download},
      {{"--expires", "1h", "/a"}, "/a", seconds(3600), download},
      {{"/a", "--expires=30m", "--upload"}, "/a", seconds(1800), upload},
      {{"--expires", "7d", "a"}, "a", seconds(604'800), download},
  };
  for (const Row& row : rows) {
    const auto options = parse_link_options(row.arguments);
    ASSERT_TRUE(options) << options.error();
    EXPECT_EQ(options->target, row.target);
    EXPECT_EQ(options->valid_for, row.valid_for);
    EXPECT_EQ(options->use, row.use);
  }
  EXPECT_TRUE(parse_link_options({"--help"})->help);
}

TEST(LinkCommand, WrongOptions) {
  const std::vector<std::vector<std::string>> rows = {
      {},
      {"--upload"},
      {"/a", "/b"},
      {"--all"},
      {"/a", "--expires"},
      {"/a", "--expires", "1"},
      {"/a", "--expires=0s"},
      {"/a", "--expires=999ms"},
      {"/a", "--expires", "-1h"},
      {"/a", "--expires", "20000d"},
      {"/a", "--expires", ""},
  };
  for (const auto& row : rows) EXPECT_FALSE(parse_link_options(row)) << row.size();
}

// Each row: a target, the link's begin, and the path that the server sees.
TEST(LinkCommand, Links) {
  struct Row {
    std::string target;
    std::string begin;
    std::string path;
    const char* host = "";
  };
  const std::vector<Row> rows = {
      {"/files/a.pdf", "/files/a.pdf?expires=1060&signature=", "/files/a.pdf"},
      {"a.pdf", "/files/a.pdf?", "/files/a.pdf"},
      {"in/a b", "/files/in/a%20b?", "/files/in/a b"},
      {"/files/a%20b", "/files/a%20b?", "/files/a b"},
      {"/files/100%", "/files/100%25?", "/files/100%"},
      {"/files/\xc3\xa4", "/files/%C3%A4?", "/files/\xc3\xa4"},
      {"/", "/?", "/"},
      {"https://Host:8443/files/a b", "https://Host:8443/files/a%20b?", "/files/a b", "host"},
      {"http://[::1]/files/a", "http://[::1]/files/a?", "/files/a", "[::1]"},
      {"https://host", "https://host/?", "/", "host"},
  };
  const LinkSigner signer(key_of(1));
  for (const Row& row : rows) {
    const auto link = make_link({.target = row.target, .valid_for = seconds(60)}, signer, 1000);
    ASSERT_TRUE(link) << link.error();
    EXPECT_TRUE(link->starts_with(row.begin)) << *link;
    const std::string query = link->substr(link->find('?') + 1);
    const auto at = [&](std::int64_t now_s, const char* host) {
      return signer.check(row.path, query, LinkUse::download, now_s, host);
    };
    EXPECT_EQ(at(1059, row.host), LinkVerdict::good) << *link;
    EXPECT_EQ(at(1060, row.host), LinkVerdict::expired);
    EXPECT_EQ(at(1059, "other"), LinkVerdict::altered);
  }
}

TEST(LinkCommand, WrongTargets) {
  const LinkSigner signer(key_of(1));
  for (const char* const target :
       {"/a?b", "/a#b", "/a/../b", "..", "https://", "https://user@host/", "https://a b/"}) {
    EXPECT_FALSE(make_link({.target = target}, signer, 0)) << target;
  }
}

TEST(LinkKey, IsMadeOnce) {
  const tests::TemporaryDirectory folder;
  const auto made = open_link_key_in(folder.path());
  ASSERT_TRUE(made) << made.error();
  const auto read = open_link_key_in(folder.path());
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(*made, *read);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"link.key"});
  struct stat status{};
  ASSERT_EQ(::stat(folder.path_of("link.key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const tests::TemporaryDirectory other;
  EXPECT_NE(*open_link_key_in(other.path()), *made);
}

TEST(LinkKey, WrongFiles) {
  const tests::TemporaryDirectory folder;
  for (const std::string& text : {std::string(), std::string(63, 'a'), std::string(65, 'a'),
                                  std::string(64, 'g'), std::string(128, 'a')}) {
    folder.write("link.key", text);
    EXPECT_FALSE(open_link_key_in(folder.path())) << text;
    EXPECT_EQ(folder.read("link.key"), text);
  }
  EXPECT_FALSE(open_link_key_in(folder.path_of("link.key")));  // no folder
}

}  // namespace link_command_test
}  // namespace h2server::app
