#include "h2server/files.h"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "content/support.h"
#include "h2server/test_client.h"

namespace h2server {
namespace files_test {

TEST(Files, AreServedBelowAPrefix) {
  const tests::TemporaryDirectory directory;
  directory.write("a.txt", "text");
  directory.write("sub/index.html", "page");
  Server server;
  server.get("/static/{path...}", Files(directory.path()));
  TestClient client(server);
  const TestResponse text = client.get("/static/a.txt");
  EXPECT_EQ(text.body, "text");
  EXPECT_EQ(text.field("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(client.get("/static/sub/").body, "page");
  EXPECT_EQ(client.get("/static/none").status, 404);
  EXPECT_EQ(client.get("/a.txt").status, 404);
  const std::string etag(text.field("etag").value_or(""));
  EXPECT_EQ(client.send({.target = "/static/a.txt", .fields = {{"if-none-match", etag}}}).status,
            304);
}

TEST(Files, IndexNames) {
  const tests::TemporaryDirectory directory;
  directory.write("a/index.html", "html");
  directory.write("a/default.htm", "htm");
  directory.write("b/index.html", "html");
  Server server;
  server.get("/{path...}", Files(directory.path(), {.index = {"default.htm", "index.html"}}));
  server.get("/none/{path...}", Files(directory.path(), {.index = {}}));
  TestClient client(server);
  for (int again = 0; again < 2; ++again) {  // from the disk, and from the cache
    EXPECT_EQ(client.get("/a/").body, "htm");
    EXPECT_EQ(client.get("/b/").body, "html");
    EXPECT_EQ(client.get("/none/a/").status, 404);
  }
}

TEST(Files, HiddenOnes) {
  const tests::TemporaryDirectory directory;
  for (const char* const name : {".env", "a/.git/config", ".well-known/security.txt",
                                 ".well-known/.x", "a/.well-known/x", "a.b/..c.txt"}) {
    directory.write(name, "x");
  }
  Server server;
  server.get("/{path...}", Files(directory.path()));
  server.get("/all/{path...}", Files(directory.path(), {.hidden = true}));
  TestClient client(server);
  const std::vector<std::pair<std::string, int>> rows = {
      {"/.env", 404},           {"/a/.git/config", 404},   {"/.well-known/security.txt", 200},
      {"/.well-known/.x", 404}, {"/a/.well-known/x", 404}, {"/a.b/..c.txt", 404},
      {"/%2eenv", 404},
  };
  for (const auto& [target, status] : rows) {
    EXPECT_EQ(client.get(target).status, status) << target;
    EXPECT_EQ(client.get("/all" + target).status, 200) << target;
  }
}

TEST(Files, FallBackForBrowsers) {
  const tests::TemporaryDirectory directory;
  directory.write("index.html", "app");
  directory.write("style.css", "css");
  Server server;
  server.get("/{path...}", Files(directory.path(), {.fallback = "index.html"}));
  TestClient client(server);
  const auto get = [&](const std::string& target, const std::string& accept) {
    return client.send({.target = target, .fields = {{"accept", accept}}});
  };
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(get("/some/path", "text/html,*/*;q=0.8").body, "app");
    EXPECT_EQ(get("/some/path/", "text/html").body, "app");
    EXPECT_EQ(get("/style.css", "text/html").body, "css");
    EXPECT_EQ(get("/gone.js", "*/*").status, 404);
    EXPECT_EQ(client.get("/gone").status, 404);
  }
}

TEST(Files, HaveTheTypesThatAreGiven) {
  const tests::TemporaryDirectory directory;
  for (const char* const name : {"a.foo", "a.htm", "a.txt", "b.bar"}) {
    directory.write(name, std::string(5000, 'x'));
  }
  directory.write("a.foo.gz", "sibling");
  Server server;
  const std::map<std::string, std::string> types = {
      {"FOO", "Text/X-Foo"}, {"htm", "text/plain"}, {"bar", "Image/X-Bar"}};
  server.get("/{path...}", Files(directory.path(), {.listing = true, .types = types}));
  server.get("/plain/{path...}", Files(directory.path(), {.compress = false, .types = types}));
  TestClient client(server);
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"/a.foo", "text/x-foo"},
      {"/a.htm", "text/plain"},
      {"/a.txt", "text/plain; charset=utf-8"},
      {"/b.bar", "image/x-bar"},
  };
  for (const auto& [target, type] : rows) {
    EXPECT_EQ(client.get(target).field("content-type"), type) << target;
    EXPECT_EQ(client.get("/plain" + target).field("content-type"), type) << target;
    // A sibling, a copy, or the file itself.
    const TestResponse coded =
        client.send({.target = target, .fields = {{"accept-encoding", "gzip"}}});
    EXPECT_EQ(coded.field("content-type"), type) << target;
  }
  EXPECT_NE(client.get("/").body.find("<a class=\"i\" href=\"b.bar\">"), std::string::npos);
}

TEST(Files, RefuseTypesThatAreNone) {
  const tests::TemporaryDirectory directory;
  for (const auto& [extension, type] : std::vector<std::pair<std::string, std::string>>{
           {".foo", "text/plain"}, {"foo", "text"}, {"foo", "text/plain\r\nSet-Cookie: a=b"}}) {
    EXPECT_THROW(Files(directory.path(), {.types = {{extension, type}}}), std::invalid_argument)
        << extension;
  }
}

TEST(Files, AreSavedIfAsked) {
  const tests::TemporaryDirectory directory;
  directory.write("sub/\xe2\x82\xac.txt", "euro");
  Server server;
  server.get("/{path...}", Files(directory.path()));
  TestClient client(server);
  const TestResponse saved = client.get("/sub/%E2%82%AC.txt?download");
  EXPECT_EQ(saved.status, 200) << saved.body;
  EXPECT_EQ(saved.field("content-disposition"),
            "attachment; filename=\"___.txt\"; filename*=UTF-8''%E2%82%AC.txt");
  EXPECT_FALSE(client.get("/sub/%E2%82%AC.txt?down").field("content-disposition"));
  EXPECT_FALSE(client.get("/none?download").field("content-disposition"));
}

TEST(Files, NeedADirectory) { EXPECT_THROW(Files("/no/such/directory"), std::system_error); }

}  // namespace files_test
}  // namespace h2server
