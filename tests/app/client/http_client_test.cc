#include "app/client/http_client.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/http_stub.h"

namespace h2server::app {
namespace http_client_test {

using std::chrono::hours;
using std::chrono::milliseconds;
using tests::HttpStub;

TEST(HttpClient, Gets) {
  HttpStub stub({"200", "404 Retry-After: 7"}, "body");
  HttpClient client;
  const HttpRequest request{.url = stub.url("/a?b"), .fields = {"X-A: 1", "X-B: 2"}};
  const auto found = client.fetch(request);
  ASSERT_TRUE(found) << found.error();
  EXPECT_EQ(found->status, 200);
  EXPECT_EQ(found->body, "body");
  EXPECT_EQ(found->retry_after, std::nullopt);
  const auto missing = client.fetch(request);
  ASSERT_TRUE(missing) << missing.error();
  EXPECT_EQ(missing->status, 404);
  EXPECT_EQ(missing->retry_after, std::chrono::seconds(7));
  for (const auto& received : stub.wait_for(2)) {
    EXPECT_TRUE(received.head.starts_with("GET /a?b HTTP/1.1\r\n")) << received.head;
    EXPECT_NE(received.head.find("X-A: 1\r\nX-B: 2"), std::string::npos) << received.head;
  }
}

TEST(HttpClient, Fields) {
  HttpStub stub({"200 X-One: a", "404 Location: /b"});
  HttpClient client;
  const auto head = client.fetch({.url = stub.url("/"), .head = true});
  ASSERT_TRUE(head) << head.error();
  EXPECT_EQ(head->fields.at("x-one"), "a");
  const auto next = client.fetch({.url = stub.url("/")});
  ASSERT_TRUE(next) << next.error();
  EXPECT_EQ(next->fields.at("location"), "/b");
  EXPECT_FALSE(next->fields.contains("x-one"));
  EXPECT_TRUE(stub.wait_for(2)[0].head.starts_with("HEAD / HTTP/1.1\r\n"));
}

TEST(HttpClient, PostsLargeBodiesAtOnce) {
  HttpStub stub({"200"});
  HttpClient client;
  const std::string body(3'000'000, '\0');
  EXPECT_TRUE(client.fetch({.url = stub.url("/"), .body = body, .time_max = hours(1)}));
  const auto received = stub.wait_for(1);
  EXPECT_TRUE(received[0].body == body);
  EXPECT_EQ(received[0].head.find("Expect"), std::string::npos);
}

TEST(HttpClient, UnixSocket) {
  const std::string path =
      testing::TempDir() + "h2server-http-client-" + std::to_string(::getpid());
  ::unlink(path.c_str());
  HttpStub stub({"200"}, "by a socket", path);
  HttpClient client;
  const auto response = client.fetch({.url = "http://localhost/x", .unix_path = path});
  ::unlink(path.c_str());
  ASSERT_TRUE(response) << response.error();
  EXPECT_EQ(response->body, "by a socket");
}

// RFC 9112, 7.1.2: fields may also follow the content.
TEST(HttpClient, TrailersThatAreTooLong) {
  for (const std::size_t count : {2'000, 3'000}) {
    std::string body = "0\r\n";
    for (std::size_t i = 0; i < count; ++i) body += "X: " + std::string(95, 'x') + "\r\n";
    HttpStub stub({"200 Transfer-Encoding: chunked"}, body + "\r\n");
    HttpClient client;
    const auto response = client.fetch({.url = stub.url("/")});
    EXPECT_EQ(response.has_value(), count == 2'000);
    EXPECT_EQ(response.has_value() ? "" : response.error(),
              count == 2'000 ? "" : "the response is too long");
  }
}

TEST(HttpClient, ResponseThatIsTooLong) {
  HttpStub stub({"200"}, "12345");
  HttpClient client;
  const auto exact = client.fetch({.url = stub.url("/"), .response_bytes_max = 5});
  EXPECT_TRUE(exact);
  const auto longer = client.fetch({.url = stub.url("/"), .response_bytes_max = 4});
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error(), "the response is too long");
}

TEST(HttpClient, Failures) {
  HttpStub stub({"hang"});
  HttpClient client;
  struct Row {
    HttpRequest request;
    std::string reason;
  };
  const std::vector<Row> rows = {
      {{.url = stub.url("/"), .time_max = milliseconds(0)}, "no response in time"},
      {{.url = "http://localhost/", .unix_path = "/nonexistent/a"}, "No such file or directory"},
      {{.url = "http://127.0.0.1:1/"}, "Connection refused"},
      {{.url = "file:///etc/passwd"}, "rotocol"},
  };
  for (const Row& row : rows) {
    const auto response = client.fetch(row.request);
    ASSERT_FALSE(response) << row.reason;
    EXPECT_NE(response.error().find(row.reason), std::string::npos) << response.error();
  }
}

TEST(HttpClient, GivesUpForGood) {
  HttpStub stub({"hang"});
  HttpClient client;
  std::thread other([&] {
    EXPECT_EQ(stub.wait_for(1).size(), 1u);
    client.give_up();
  });
  EXPECT_FALSE(client.fetch({.url = stub.url("/"), .time_max = hours(1)}));
  other.join();
  EXPECT_FALSE(client.fetch({.url = stub.url("/"), .time_max = hours(1)}));
}

}  // namespace http_client_test
}  // namespace h2server::app
