#include "content/uploads/area/upload_event.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "content/support.h"
#include "h2server/forwarded.h"
#include "h2server/test_client.h"

namespace h2server::content {
namespace upload_event_test {

Response store(Request& request) {
  report_stored(request, {.name = "in/a.txt", .size = 7, .sha256 = std::string(64, 'a')});
  report_stored(request, {.name = "b", .size = 0});
  return Response(201);
}

Middleware named_client() {
  return [](Request& request) -> std::optional<Response> {
    request.attach(ForwardedClient{.address = "192.0.2.1"});
    return std::nullopt;
  };
}

TEST(UploadEvent, IsReported) {
  const tests::TemporaryDirectory folder;
  std::vector<UploadEvent> events;
  Server server;
  server.with(named_client())
      .with(
          report_uploads(folder.path() + "/.", [&](const UploadEvent& e) { events.push_back(e); }))
      .put("/", store);
  TestClient client(server);
  EXPECT_EQ(client.send({.method = PUT}).status, 201);
  ASSERT_EQ(events.size(), 2u);
  const std::string full = std::filesystem::canonical(folder.path());
  EXPECT_EQ(events[0].path, full + "/in/a.txt");
  EXPECT_EQ(events[0].name, "in/a.txt");
  EXPECT_EQ(events[0].size, 7u);
  EXPECT_EQ(events[0].sha256, std::string(64, 'a'));
  EXPECT_EQ(events[0].client, "192.0.2.1");
  EXPECT_EQ(events[1].path, full + "/b");
  EXPECT_EQ(events[1].sha256, "");
}

TEST(UploadEvent, NobodyListens) {
  Server server;
  server.put("/", store);
  server.with(report_uploads("/", {})).put("/empty", store);
  TestClient client(server);
  EXPECT_EQ(client.send({.method = PUT}).status, 201);
  EXPECT_EQ(client.send({.method = PUT, .target = "/empty"}).status, 201);
}

}  // namespace upload_event_test
}  // namespace h2server::content
