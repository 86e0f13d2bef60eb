// The routes of examples/notes.cc, by TestClient.
#include "notes_routes.h"

#include <gtest/gtest.h>

#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "h2server/test_client.h"
#include "notes_store.h"

namespace h2server {
namespace notes_test {

TestRequest creating(std::string json) {
  return {.method = POST,
          .target = "/notes",
          .fields = {{"content-type", "application/json"}},
          .body = std::move(json)};
}

class Notes : public testing::Test {
 protected:
  Notes() { notes::add_routes(server_, store_); }

  NoteStore store_{":memory:"};
  Server server_;
};

TEST_F(Notes, AreCreatedReadListedAndDeleted) {
  TestClient client(server_);
  const TestResponse created = client.send(creating("{\"text\":\"milk\"}"));
  EXPECT_EQ(created.status, 201);
  EXPECT_EQ(created.field("location"), "/notes/1");
  EXPECT_EQ(created.body, "{\"id\":1,\"text\":\"milk\"}\n");
  EXPECT_EQ(client.send(creating("{\"text\":\"a \\\"b\\\"\\n\"}")).status, 201);

  EXPECT_EQ(client.get("/notes/1").body, created.body);
  EXPECT_EQ(client.get("/notes").body,
            "[{\"id\":2,\"text\":\"a \\\"b\\\"\\u000a\"},{\"id\":1,\"text\":\"milk\"}]\n");

  EXPECT_EQ(client.send({.method = DELETE, .target = "/notes/1"}).status, 204);
  EXPECT_EQ(client.send({.method = DELETE, .target = "/notes/1"}).status, 404);
  EXPECT_EQ(client.get("/notes/1").status, 404);
}

TEST_F(Notes, ThatAreWrongAreRefused) {
  const std::string longest(1000, 'x');
  const std::vector<std::pair<TestRequest, int>> rows = {
      {creating("{\"text\":\"" + longest + "\"}"), 201},
      {creating("{\"text\":\"" + longest + "x\"}"), 422},
      {creating("{\"text\":\"\"}"), 422},
      {creating("{\"text\":1}"), 422},
      {creating("{}"), 422},
      {creating("[]"), 422},
      {creating("{\"text\":\"cut o"), 422},
      {creating(""), 422},
      {creating(std::string(notes::body_bytes_max + 1, ' ')), 413},
      {{.method = POST, .target = "/notes", .body = "text=milk"}, 415},
      {{.target = "/notes/1x"}, 404},
      {{.target = "/notes/99999999999999999999"}, 404},
      {{.method = DELETE, .target = "/notes/0x1"}, 404},
      {{.method = PUT, .target = "/notes/1"}, 405},
      {{.target = "/"}, 404},
  };
  TestClient client(server_);
  for (const auto& [request, status] : rows) {
    const TestResponse response = client.send(request);
    EXPECT_EQ(response.status, status) << request.target << " " << request.body;
    if (status == 201) continue;
    EXPECT_EQ(response.field("content-type"), "application/problem+json") << request.target;
  }
  EXPECT_EQ(client.get("/notes").body, "[{\"id\":1,\"text\":\"" + longest + "\"}]\n");
}

TEST_F(Notes, OfNobodyAreNotLookedUp) {
  std::stop_source source;
  EXPECT_TRUE(store_.list(1, source.get_token()).empty());
  source.request_stop();
  EXPECT_THROW(static_cast<void>(store_.list(1, source.get_token())), HttpError);
}

}  // namespace notes_test
}  // namespace h2server
