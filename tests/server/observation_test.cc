// What a server tells of its exchanges: records, metrics, status, the access log, hosts.
#include "server/observation.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "h2server/authentication.h"
#include "h2server/server.h"
#include "server/client.h"
#include "server/http2_client.h"

namespace h2server {
namespace observation_test {

using tests::Client;

// A record with copies of its texts.
struct Noted {
  AccessRecord record;
  std::string method, target, authority, user, user_agent, trace_id, route, site;
  bool has_request = false;
};

// Keeps what the hook gets, and waits for it.
class Notebook {
 public:
  ExchangeHook hook() {
    return [this](const Request* request, const AccessRecord& record) {
      const std::lock_guard lock(mutex_);
      noted_.push_back({record, std::string(record.method), std::string(record.target),
                        std::string(record.authority), std::string(record.user),
                        std::string(record.user_agent), std::string(record.trace_id),
                        std::string(record.route), std::string(record.site), request != nullptr});
      changed_.notify_all();
    };
  }

  std::vector<Noted> take(std::size_t count) {
    std::unique_lock lock(mutex_);
    const bool all =
        changed_.wait_for(lock, tests::patience, [&] { return noted_.size() >= count; });
    EXPECT_TRUE(all) << noted_.size() << " of " << count;
    return std::exchange(noted_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Noted> noted_;
};

std::string request_with(std::string_view fields, std::string_view target = "/a") {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: test\r\n" + std::string(fields) +
         "\r\n";
}

class ObservationTest : public testing::TestWithParam<ServerScheme> {
 protected:
  ServerOptions options() {
    ServerOptions made = tests::cleartext(GetParam(), 2);
    made.exchange_hook = notebook_.hook();
    made.metrics = true;
    return made;
  }

  Notebook notebook_;
};

TEST_P(ObservationTest, RecordsWhatHasHappened) {
  Server server(options());
  server.get("/a", [](Request&) { return Response(200, "12345"); });
  server.get("/error", [](Request&) -> Response { throw HttpError(503, "busy"); });
  server.post("/up", Handler([](Request& request) -> Task<Response> {
                const Result<std::string> body = co_await request.read_all(1 << 20);
                co_return Response(body ? 201 : 400);
              }));
  ASSERT_TRUE(server.start());
  Client client(tests::port_of(server));
  client.send(request_with("User-Agent: me\r\ntraceparent: "
                           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n",
                           "/a?q=1"));
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_EQ(client.get("/error").status, 503);
  EXPECT_EQ(client.get("/none").status, 404);
  client.send("POST /up HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(client.receive().status, 201);
  client.send("nonsense\r\n\r\n");
  const std::vector<Noted> noted = notebook_.take(5);
  ASSERT_EQ(noted.size(), 5U);
  EXPECT_EQ(noted[0].record.status, 200);
  EXPECT_EQ(noted[0].record.response_bytes, 5U);
  EXPECT_EQ(noted[0].record.version, 11);
  EXPECT_EQ(noted[0].record.cut_off, CutOff::none);
  EXPECT_GE(noted[0].record.duration_us, noted[0].record.first_byte_us);
  EXPECT_GE(noted[0].record.first_byte_us, 0);
  EXPECT_EQ(noted[0].method, "GET");
  EXPECT_EQ(noted[0].target, "/a?q=1");
  EXPECT_EQ(noted[0].authority, "test");
  EXPECT_EQ(noted[0].user_agent, "me");
  EXPECT_EQ(noted[0].trace_id, "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(noted[0].route, "/a");
  EXPECT_TRUE(noted[0].has_request);
  EXPECT_EQ(noted[1].record.status, 503);
  EXPECT_EQ(noted[2].record.status, 404);
  EXPECT_EQ(noted[2].route, "");
  EXPECT_EQ(noted[3].record.status, 201);
  EXPECT_EQ(noted[3].record.request_bytes, 3U);
  EXPECT_EQ(noted[4].record.status, 400) << "refused before it was complete";
  EXPECT_EQ(noted[4].method, "");
  EXPECT_FALSE(noted[4].has_request);
}

TEST_P(ObservationTest, RecordsHttp2) {
  Server server(options());
  server.get("/a", [](Request&) { return Response(200, "12345"); });
  server.get("/large", [](Request&) { return Response(200, std::string(300'000, 'x')); });
  ASSERT_TRUE(server.start());
  tests::Http2Client client(tests::port_of(server));
  EXPECT_EQ(client.get("/a"), "12345");
  const std::vector<Noted> first = notebook_.take(1);
  EXPECT_EQ(first[0].record.version, 20);
  EXPECT_EQ(first[0].record.stream, 1U);
  EXPECT_EQ(first[0].record.status, 200);
  EXPECT_EQ(first[0].record.response_bytes, 5U);
}

TEST_P(ObservationTest, CountsInMetrics) {
  Server server(options());
  server.get("/a", [](Request&) { return Response(200, "12345"); });
  server.host("b.test").get("/b", [](Request&) { return Response(204); });
  ASSERT_TRUE(server.start());
  Client client(tests::port_of(server));
  for (int i = 0; i < 3; ++i) client.get("/a");
  client.send("GET /b HTTP/1.1\r\nHost: b.test\r\n\r\n");
  EXPECT_EQ(client.receive().status, 204);
  notebook_.take(4);
  const std::string text = server.metrics();
  for (const char* const line :
       {"h2server_http_requests_total{site=\"\",method=\"GET\",status_class=\"2xx\","
        "protocol=\"1.1\"} 3\n",
        "h2server_http_requests_total{site=\"b.test\",method=\"GET\",status_class=\"2xx\","
        "protocol=\"1.1\"} 1\n",
        "h2server_http_request_duration_seconds_count{site=\"\"} 3\n",
        "h2server_memory_bytes{owner=\"file_cache\"} ", "process_open_fds ", "# EOF\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  const ServerStatus status = server.status();
  ASSERT_EQ(status.hosts.size(), 2U);
  EXPECT_EQ(status.hosts[0].requests, 3U);
  EXPECT_EQ(status.hosts[0].response_bytes, 15U);
  EXPECT_EQ(status.hosts[1].name, "b.test");
  EXPECT_EQ(status.hosts[1].requests, 1U);
}

INSTANTIATE_TEST_SUITE_P(Schemes, ObservationTest, testing::ValuesIn(tests::schemes),
                         [](const auto& row) { return tests::scheme_name(row.param); });

class ObservedServerTest : public testing::Test {
 protected:
  ~ObservedServerTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const char* name) const { return folder_ + "/" + name; }
  static std::vector<std::string> lines_of(const std::string& file) {
    std::ifstream in(file);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  const std::string folder_ = [] {
    std::string name = std::filesystem::temp_directory_path() / "observed-XXXXXX";
    return std::string(::mkdtemp(name.data()));
  }();
};

TEST_F(ObservedServerTest, ShowsConnectionsAndUploads) {
  ServerOptions options = tests::cleartext();
  options.metrics = true;
  Server server(options);
  tests::Signal entered;
  server.post("/up", Handler([&entered](Request& request) -> Task<Response> {
                const Result<std::string_view> piece = co_await request.read();
                entered.set();
                const Result<std::string> rest = co_await request.read_all(1000);
                co_return Response(piece && rest ? 200 : 400);
              }));
  ASSERT_TRUE(server.start());
  Client client(tests::port_of(server));
  client.send("POST /up?secret HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nabc");
  ASSERT_TRUE(entered.wait());
  const ServerStatus status = server.status();
  ASSERT_EQ(status.connections.size(), 1U);
  EXPECT_EQ(status.connections[0].protocol, "HTTP/1.1");
  EXPECT_EQ(status.connections[0].client, "127.0.0.1");
  EXPECT_EQ(status.connections[0].active, 1U);
  EXPECT_EQ(status.connections[0].upload_bytes, 3U);
  ASSERT_EQ(status.uploads.size(), 1U);
  EXPECT_EQ(status.uploads[0].path, "/up");
  EXPECT_EQ(status.uploads[0].received, 3U);
  EXPECT_EQ(status.uploads[0].size, 10U);
  const ServerStatus numbers = server.status(Server::Detail::numbers);
  EXPECT_TRUE(numbers.connections.empty());
  ASSERT_EQ(numbers.workers.size(), 1U);
  EXPECT_EQ(numbers.workers[0].connections, 1U);
  client.send("defghij");
  EXPECT_EQ(client.receive().status, 200);
}

// The head of a response has begun a body that nobody takes any more.
TEST_F(ObservedServerTest, TellsWhyABodyWasCutOff) {
  Notebook notebook;
  ServerOptions options = tests::cleartext();
  options.exchange_hook = notebook.hook();
  Server server(options);
  server.get("/large", [](Request&) { return Response(200, std::string(64 << 20, 'x')); });
  server.get("/wait", Handler([](Request& request) -> Task<Response> {
               request.abort();
               co_return Response(200);
             }));
  ASSERT_TRUE(server.start());
  {
    Client client(tests::port_of(server));
    client.send(request_with("", "/large"));
    EXPECT_EQ(client.take(1000).size(), 1000U);
  }
  const std::vector<Noted> noted = notebook.take(1);
  EXPECT_EQ(noted[0].record.cut_off, CutOff::client_left);
  EXPECT_EQ(noted[0].record.status, 200);
  EXPECT_LT(noted[0].record.response_bytes, 64U << 20);
}

TEST_F(ObservedServerTest, WritesAnAccessLogForEachHost) {
  ServerOptions options = tests::cleartext();
  options.access_log = {.target = path("usual"), .hosts = {{"b.test", path("b")}}};
  Server server(options);
  server.get("/{path...}", [](Request&) { return Response(200); });
  server.host("b.test").get("/{path...}", [](Request&) { return Response(200); });
  ASSERT_TRUE(server.start());
  Client client(tests::port_of(server));
  client.get("/one");
  client.send("GET /two HTTP/1.1\r\nHost: b.test\r\n\r\n");
  EXPECT_EQ(client.receive().status, 200);
  server.stop();
  ASSERT_TRUE(server.wait());  // all lines are written then
  ASSERT_EQ(lines_of(path("usual")).size(), 1U);
  EXPECT_NE(lines_of(path("usual"))[0].find("\"GET /one HTTP/1.1\" 200"), std::string::npos);
  ASSERT_EQ(lines_of(path("b")).size(), 1U);
  EXPECT_NE(lines_of(path("b"))[0].find("GET /two"), std::string::npos);
}

TEST_F(ObservedServerTest, RefusesLogsThatCannotBe) {
  ServerOptions options = tests::cleartext();
  options.access_log = {.target = path("none/log")};
  Server server(options);
  const auto started = server.start();
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().find(path("none/log")), std::string::npos);

  options.access_log = {.hosts = {{"unknown.test", path("log")}}};
  Server other(options);
  EXPECT_FALSE(other.start());

  options.access_log = {.target = path("log")};
  options.scheme = ServerScheme::process_per_connection;
  Server processes(options);
  EXPECT_FALSE(processes.start());
}

TEST(Hosts, HaveRoutesOfTheirOwn) {
  Server server(tests::cleartext());
  const auto says = [](const char* text) {
    return [text](Request&) { return Response(200, text); };
  };
  server.get("/", says("usual"));
  server.hosts({"a.test", "www.a.test"}).get("/", says("a"));
  server.host("*.b.test").get("/", says("below b"));
  server.rewrite("a.test", {{"/x/*", "/"}});
  server.rewrite({{"/y", "/"}});
  EXPECT_THROW((void)server.hosts({}), std::invalid_argument);
  EXPECT_THROW((void)server.host("*"), std::invalid_argument);
  EXPECT_THROW((void)server.host("*.*.test"), std::invalid_argument);
  EXPECT_THROW((void)server.hosts({"a.test", "*.b.test"}), std::invalid_argument);
  EXPECT_THROW(server.rewrite({{"/a", "b"}}), std::invalid_argument);
  ASSERT_TRUE(server.start());
  Client client(tests::port_of(server));
  const auto ask = [&](const char* host, const char* target) {
    client.send("GET " + std::string(target) + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    const tests::Reply reply = client.receive();
    return reply.status == 200 ? reply.body : std::to_string(reply.status);
  };
  EXPECT_EQ(ask("a.test", "/"), "a");
  EXPECT_EQ(ask("WWW.A.test:8080", "/"), "a");
  EXPECT_EQ(ask("x.b.test", "/"), "below b");
  EXPECT_EQ(ask("b.test", "/"), "usual");
  EXPECT_EQ(ask("other.test", "/y"), "usual");
  EXPECT_EQ(ask("a.test", "/x/1"), "a");
  EXPECT_EQ(ask("a.test", "/y"), "404");
}

}  // namespace observation_test
}  // namespace h2server
