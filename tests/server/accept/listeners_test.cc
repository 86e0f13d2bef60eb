// Several listeners of one server, and several servers in one process.
#include "server/accept/listeners.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "content/support.h"
#include "h2server/server.h"
#include "io/choose.h"
#include "net/certs/tls_certificate.h"
#include "server/client.h"
#include "server/http2_client.h"

namespace h2server {
namespace listeners_test {

using tests::Client;

// All of them; tests::schemes lacks process-per-connection.
constexpr ServerScheme schemes[] = {ServerScheme::reuseport,
                                    ServerScheme::acceptor,
                                    ServerScheme::thread_pool,
                                    ServerScheme::buffered_pool,
                                    ServerScheme::thread_per_connection,
                                    ServerScheme::process_per_connection};

// Connects to a Unix socket and sends GET /. Returns the response, up to the end of the connection.
std::string get_from(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const base::Fd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{.tv_sec = tests::patience.count(), .tv_usec = 0};
  ::setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const auto* const plain = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(client.get(), plain, sizeof address) != 0) return std::strerror(errno);
  constexpr std::string_view text = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL), ssize_t{text.size()});
  std::string all;
  std::array<char, 4096> room;
  for (ssize_t count; (count = tests::receive_some(client.get(), room)) > 0;) {
    all.append(room.data(), static_cast<std::size_t>(count));
  }
  return all;
}

Response describe(Request& request) {
  const Address server = request.connection().server();
  return {200, fmt::format("{}:{}{} {}", server.host, server.port, server.path,
                           request.connection().client().host)};
}

// A listener of the test, as a parent process would pass one on.
base::Fd open_inherited() {
  return std::move(net::open_listeners({.host = "::1"})->front().socket);
}

struct Way {
  ServerScheme scheme;
  IoEngine engine;
  unsigned threads;
};

std::vector<Way> ways() {
  std::vector<Way> all;
  for (const ServerScheme scheme : schemes) {
    for (const IoEngine engine : {IoEngine::epoll, IoEngine::io_uring, IoEngine::blocking}) {
      if (!server::runs_on(server::kind_of(scheme), engine)) continue;
      for (const unsigned threads : {1U, 3U}) all.push_back({scheme, engine, threads});
    }
  }
  return all;
}

class ListenersTest : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (GetParam().engine == IoEngine::io_uring && !io::choose_engine(IoEngine::io_uring)) {
      GTEST_SKIP() << "no io_uring here";
    }
  }
  static ServerOptions options() {
    const Way& way = GetParam();
    return {.threads = way.threads, .scheme = way.scheme, .io = way.engine};
  }

  tests::TemporaryDirectory directory_;
  std::string path_ = directory_.path_of("socket");
};

INSTANTIATE_TEST_SUITE_P(Ways, ListenersTest, testing::ValuesIn(ways()), [](const auto& way) {
  return fmt::format("{}_{}_{}", tests::scheme_name(way.param.scheme),
                     server::name_of(way.param.engine), way.param.threads);
});

TEST_P(ListenersTest, AllAreServed) {
  const base::Fd inherited = open_inherited();
  ServerOptions settings = options();
  settings.listeners = {{.host = "127.0.0.1", .port = 0, .cleartext = true},
                        {.unix_path = path_, .unix_mode = 0600, .cleartext = true},
                        {.descriptors = {inherited.get()}, .cleartext = true},
                        {.host = "127.0.0.1", .port = 0, .cleartext = true}};
  Server server(settings);
  server.add_handler(GET, "/", describe);
  for (int round = 0; round < 2; ++round) {
    const auto started = server.start();
    ASSERT_TRUE(started) << started.error();
    const std::vector<Address>& addresses = server.addresses();
    ASSERT_EQ(addresses.size(), 4U);
    EXPECT_EQ(addresses[1], Address{.path = path_});
    EXPECT_EQ(addresses[2].host, "::1");
    EXPECT_NE(addresses[0].port, addresses[3].port);
    for (const Address& address : {addresses[0], addresses[3]}) {
      for (int i = 0; i < 8; ++i) {
        Client client(address.port);
        client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        EXPECT_EQ(client.receive().body, fmt::format("127.0.0.1:{} 127.0.0.1", address.port));
      }
    }
    for (int i = 0; i < 8; ++i) {
      const std::string reply = get_from(path_);
      EXPECT_TRUE(reply.ends_with("\r\n\r\n:0" + path_ + " ")) << reply;
    }
    const Address& ipv6 = addresses[2];
    for (int i = 0; i < 8; ++i) {
      Client client(ipv6.port, Client::Family::ipv6);
      client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
      EXPECT_EQ(client.receive().body, fmt::format("::1:{} ::1", ipv6.port));
    }
    server.stop();
    EXPECT_TRUE(server.wait());
    struct stat found{};
    EXPECT_NE(::lstat(path_.c_str(), &found), 0) << "removed";
    // The backlog of an inherited listener outlives the server.
    EXPECT_EQ(Client(ipv6.port, Client::Family::ipv6).error(), 0);
  }
}

// Bytes that are no TLS get a 400 from a listener with TLS, and no answer from the handler.
TEST_P(ListenersTest, CleartextBesideTls) {
  ServerOptions settings = options();
  settings.certificate_file = directory_.path_of("crt");
  settings.key_file = directory_.path_of("key");
  ASSERT_TRUE(net::make_self_signed(settings.certificate_file, settings.key_file));
  settings.listeners = {{.host = "127.0.0.1", .port = 0},
                        {.host = "127.0.0.1", .port = 0, .cleartext = true},
                        {.unix_path = path_, .cleartext = true}};
  Server server(settings);
  server.add_handler(GET, "/", [](Request& request) {
    return Response(200, request.head().encrypted ? "TLS" : "cleartext");
  });
  const auto started = server.start();
  ASSERT_TRUE(started) << started.error();
  for (int i = 0; i < 8; ++i) {
    {
      Client tls(server.addresses()[0].port);
      EXPECT_EQ(tls.get("/").status, 400);
    }
    {
      Client cleartext(server.addresses()[1].port);
      EXPECT_EQ(cleartext.get("/").body, "cleartext");
    }
    {
      tests::Http2Client http2(server.addresses()[1].port);
      EXPECT_EQ(http2.get("/"), "cleartext");
    }
    EXPECT_TRUE(get_from(path_).ends_with("\r\n\r\ncleartext"));
  }
}

TEST(Listeners, AnErrorLeavesNothingBehind) {
  const tests::TemporaryDirectory directory;
  directory.write("file", "text");
  const std::string path = directory.path_of("socket");
  struct Row {
    ListenerOptions listener;
    std::string error;
  };
  const std::vector<Row> rows = {
      {{.unix_path = directory.path_of("file"), .cleartext = true}, "is no socket"},
      {{.unix_path = path, .cleartext = true}, "is in use"},  // the first listener's
      {{.descriptors = {1'000'000}, .cleartext = true}, "descriptor 1000000"},
      {{.host = "127.0.0.1", .unix_path = path, .cleartext = true}, "either"},
      {{.unix_path = path, .descriptors = {3}, .cleartext = true}, "either"},
      {{.host = "::1", .descriptors = {3}, .cleartext = true}, "either"},
      {{.unix_mode = 0600, .cleartext = true}, "without unix_path"},
      {{.unix_path = path, .unix_mode = 01777, .cleartext = true}, "9 bits"},
  };
  for (const ServerScheme scheme : schemes) {
    for (const Row& row : rows) {
      ServerOptions options{.scheme = scheme};
      options.listeners = {{.unix_path = path, .cleartext = true}, row.listener};
      Server server(options);
      const auto started = server.start();
      ASSERT_FALSE(started) << row.error;
      EXPECT_NE(started.error().find(row.error), std::string::npos) << started.error();
      EXPECT_EQ(get_from(path), std::strerror(ENOENT));
    }
  }
  for (const auto change :
       {+[](ServerOptions& o) { o.host = "::1"; }, +[](ServerOptions& o) { o.cleartext = true; }}) {
    ServerOptions options;
    options.listeners = {{.unix_path = path, .cleartext = true}};
    change(options);
    const auto started = Server(options).start();
    ASSERT_FALSE(started);
    EXPECT_NE(started.error().find("no effect beside listeners"), std::string::npos);
  }
}

TEST(Listeners, TheSamePortTwiceIsAnError) {
  for (const ServerScheme scheme : schemes) {
    Server probe(tests::cleartext());
    ASSERT_TRUE(probe.start());
    const std::uint16_t port = tests::port_of(probe);
    probe.stop();
    ASSERT_TRUE(probe.wait());
    ServerOptions options{.scheme = scheme};
    const ListenerOptions listener{.host = "127.0.0.1", .port = port, .cleartext = true};
    options.listeners = {listener, listener};
    const auto started = Server(options).start();
    ASSERT_FALSE(started);
    EXPECT_NE(started.error().find("is in use"), std::string::npos) << started.error();
  }
}

// Each scheme beside the next one, in one process, with handlers of their own.
TEST(Listeners, SeveralServersInOneProcess) {
  const tests::TemporaryDirectory directory;
  std::deque<Server> servers;
  for (const ServerScheme scheme : schemes) {
    const auto number = std::to_string(servers.size());
    ServerOptions options{.scheme = scheme};
    options.threads = 2;
    options.listeners = {{.host = "127.0.0.1", .port = 0, .cleartext = true},
                         {.unix_path = directory.path_of(number), .cleartext = true}};
    Server& server = servers.emplace_back(options);
    server.add_handler(GET, "/", [number](Request&) { return Response(200, number); });
  }
  // Processes are forked before the threads of the others run.
  for (auto server = servers.rbegin(); server != servers.rend(); ++server) {
    const auto started = server->start();
    ASSERT_TRUE(started) << started.error();
  }
  for (std::size_t first = 0; first < servers.size(); ++first) {
    for (std::size_t i = first; i < servers.size(); ++i) {
      const std::string number = std::to_string(i);
      EXPECT_EQ(Client(tests::port_of(servers[i])).get("/").body, number);
      EXPECT_TRUE(get_from(directory.path_of(number)).ends_with("\r\n\r\n" + number));
    }
    servers[first].stop();
    EXPECT_TRUE(servers[first].wait());
    EXPECT_EQ(get_from(directory.path_of(std::to_string(first))), std::strerror(ENOENT));
  }
}

}  // namespace listeners_test
}  // namespace h2server
