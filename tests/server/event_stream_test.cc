#include "h2server/event_stream.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "h2server/test_client.h"
#include "server/client.h"

namespace h2server {
namespace event_stream_test {

using namespace std::chrono_literals;

const std::string ask = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

// Reads chunks of HTTP/1.1 until `text` is complete.
std::string chunks_until(tests::Client& client, std::string_view text) {
  std::string all;
  while (all.find(text) == std::string::npos) {
    std::string size;
    while (!size.ends_with("\r\n")) {
      const std::string byte = client.take(1);
      if (byte.empty()) return all + "<cut off>";
      size += byte;
    }
    const std::size_t bytes = std::stoul(size, nullptr, 16);
    const std::string chunk = client.take(bytes + 2);
    if (bytes == 0) return all + "<end>";
    all += chunk.substr(0, bytes);
  }
  return all;
}

class Events : public testing::Test {
 protected:
  void start(const EventStreamOptions& options, unsigned workers = 2) {
    stream_.emplace(options);
    server_.emplace(tests::cleartext(ServerScheme::reuseport, workers));
    server_->get("/", [this](Request& request) { return stream_->subscribe(request); });
    ASSERT_TRUE(server_->start());
    port_ = tests::port_of(*server_);
  }
  void wait_for_clients(std::size_t count) {
    while (stream_->clients() != count) std::this_thread::sleep_for(1ms);
  }

  std::optional<EventStream> stream_;
  std::optional<Server> server_;
  std::uint16_t port_ = 0;
};

TEST_F(Events, AreEncodedByTheStandard) {
  const std::vector<std::pair<Event, std::string>> rows = {
      {{.data = "x"}, "data: x\n\n"},
      {{.data = ""}, "data: \n\n"},
      {{.data = "a\nb\r\nc\rd\n"}, "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"},
      {{.data = "x", .type = "t", .id = "7", .retry = 1500ms},
       "event: t\nid: 7\nretry: 1500\ndata: x\n\n"},
      {{.data = ": no comment"}, "data: : no comment\n\n"},
  };
  Server server;
  EventStream stream;
  server.get("/", [&](Request& request) { return stream.subscribe(request); });
  TestClient client(server);
  TestExchange exchange = client.open({});
  EXPECT_EQ(exchange.head().field("content-type"), "text/event-stream");
  EXPECT_EQ(exchange.head().field("cache-control"), "no-store");
  for (const auto& [event, bytes] : rows) {
    stream.send(event);
    EXPECT_EQ(exchange.read(), bytes);
  }
  for (const char* const bad : {"a\nb", "a\rb"}) {
    EXPECT_THROW(stream.send({.data = "", .type = bad}), std::invalid_argument);
    EXPECT_THROW(stream.send({.data = "", .id = bad}), std::invalid_argument);
  }
  EXPECT_THROW(stream.send({.data = "", .id = std::string("a\0b", 3)}), std::invalid_argument);
  stream.close();
  EXPECT_EQ(exchange.read(), "");
  EXPECT_TRUE(exchange.rest().complete);
  EXPECT_EQ(client.get("/").status, 204) << "clients shall not come back";
}

TEST_F(Events, ReachAllClientsOfAllWorkers) {
  start({}, 3);
  constexpr std::size_t count = 20;
  std::deque<tests::Client> clients;
  for (std::size_t i = 0; i < count; ++i) {
    clients.emplace_back(port_).send(ask);
    EXPECT_EQ(clients.back().receive().status, 200);
  }
  wait_for_clients(count);
  for (int i = 0; i < 10; ++i) stream_->send({.data = std::to_string(i)});
  for (tests::Client& client : clients) {
    std::string expected;
    for (int i = 0; i < 10; ++i) expected += "data: " + std::to_string(i) + "\n\n";
    EXPECT_EQ(chunks_until(client, "data: 9\n\n"), expected);
  }
  while (clients.size() > count / 2) clients.pop_back();
  EXPECT_NO_FATAL_FAILURE(wait_for_clients(count / 2)) << "who leaves is noticed";
  stream_->close();
  for (tests::Client& client : clients) EXPECT_EQ(chunks_until(client, "never"), "<end>");
  wait_for_clients(0);
}

TEST_F(Events, EndWhenTheServerBeginsToStop) {
  start({});
  tests::Client client(port_);
  client.send(ask);
  EXPECT_EQ(client.receive().status, 200);
  const auto from = std::chrono::steady_clock::now();
  server_->stop();
  EXPECT_EQ(chunks_until(client, "never"), "<end>");
  EXPECT_TRUE(server_->wait());
  EXPECT_LT(std::chrono::steady_clock::now() - from, 9s) << "before the drain limit";
  stream_->send({.data = "nobody"});
  EXPECT_EQ(stream_->clients(), 0U);
}

// More clients than get an event in one turn of their worker.
TEST_F(Events, ReachManyClientsInOrder) {
  start({}, 1);
  std::vector<std::unique_ptr<tests::Client>> clients;
  for (int i = 0; i < 600; ++i) {
    clients.push_back(std::make_unique<tests::Client>(port_));
    clients.back()->send(ask);
    ASSERT_EQ(clients.back()->receive().status, 200);
  }
  stream_->send({.data = "1"});
  stream_->send({.data = "2"});
  for (const auto& client : clients) {
    ASSERT_EQ(chunks_until(*client, "2\n\n"), "data: 1\n\ndata: 2\n\n");
  }
  stream_->close();
  for (const auto& client : clients) ASSERT_EQ(chunks_until(*client, "never"), "<end>");
}

TEST_F(Events, CutOffWhoIsTooSlow) {
  start({.waiting_max = 4}, 1);
  tests::Client slow(port_), fast(port_);
  for (tests::Client* const client : {&slow, &fast}) {
    client->send(ask);
    EXPECT_EQ(client->receive().status, 200);
  }
  const std::string large(1'000'000, 'x');
  for (int i = 0; i < 100 && stream_->clients() == 2; ++i) {
    stream_->send({.data = large});
    EXPECT_EQ(chunks_until(fast, "\n\n").size(), large.size() + 8);
  }
  EXPECT_EQ(stream_->clients(), 1U);
  stream_->send({.data = "on"});
  EXPECT_EQ(chunks_until(fast, "\n\n"), "data: on\n\n");
}

// What waits for a busy worker is bounded, too.
TEST_F(Events, CutOffEveryoneOfAWorkerThatIsTooSlow) {
  start({.waiting_max = 4}, 1);
  tests::Client client(port_);
  client.send(ask);
  EXPECT_EQ(client.receive().status, 200);
  tests::Signal busy, go;
  ASSERT_TRUE(server_->post(0, [&] {
    busy.set();
    go.wait();
  }));
  ASSERT_TRUE(busy.wait());
  for (int i = 0; i < 6; ++i) stream_->send({.data = std::to_string(i)});
  go.set();
  EXPECT_EQ(chunks_until(client, "never"), "<cut off>");
  EXPECT_EQ(stream_->clients(), 0U);
}

TEST_F(Events, KeepAliveCommentsFillSilence) {
  start({.keep_alive = 100ms}, 1);
  tests::Client client(port_);
  client.send(ask);
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_EQ(chunks_until(client, ":\n\n"), ":\n\n");
  EXPECT_EQ(chunks_until(client, ":\n\n"), ":\n\n");
}

TEST_F(Events, AClientThatComesBackGetsWhatItMissed) {
  Server server;
  EventStream stream({.history_max = 3});
  server.get("/", [&](Request& request) { return stream.subscribe(request); });
  TestClient client(server);
  for (const char* const id : {"1", "2", "3", "4"}) {
    stream.send({.data = std::string("d") + id, .id = id});
  }
  stream.send({.data = "without id"});
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"2", "id: 3\ndata: d3\n\nid: 4\ndata: d4\n\ndata: now\n\n"},
      {"4", "data: now\n\n"},
      {"1", "data: now\n\n"},  // too long ago
      {"", "data: now\n\n"},
  };
  std::deque<TestExchange> exchanges;
  for (const auto& [last, expected] : rows) {
    exchanges.push_back(client.open({.fields = {{"last-event-id", last}}}));
    static_cast<void>(exchanges.back().head());
  }
  stream.send({.data = "now"});
  stream.close();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(exchanges[i].rest().body, rows[i].second) << rows[i].first;
  }
}

}  // namespace event_stream_test
}  // namespace h2server
