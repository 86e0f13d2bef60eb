#include "h2server/files.h"

#include <gtest/gtest.h>

#include <system_error>

#include "content/support.h"
#include "h2server/test_client.h"

namespace h2server {
namespace {

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

TEST(Files, AreLookedUpAgainAsOftenAsAsked) {
  const tests::TemporaryDirectory directory;
  directory.write("a.txt", "old");
  Server server;
  server.get("/now/{path...}", Files(directory.path(), {.fresh = std::chrono::milliseconds(0)}));
  TestClient client(server);
  EXPECT_EQ(client.get("/now/a.txt").body, "old");
  directory.write("a.txt", "new text");
  EXPECT_EQ(client.get("/now/a.txt").body, "new text");
}

TEST(Files, NeedADirectory) { EXPECT_THROW(Files("/no/such/directory"), std::system_error); }

}  // namespace
}  // namespace h2server
