// The server under each scheme, with one worker and with several.
#include "h2server/server.h"
#include "h2server/timing.h"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

#include "content/support.h"
#include "h2server/file.h"
#include "server/client.h"

namespace h2server {
namespace server_test {

using tests::Client;
using tests::Reply;

class Serving : public testing::TestWithParam<std::tuple<ServerScheme, unsigned>> {
 protected:
  static ServerOptions options() {
    return tests::cleartext(std::get<0>(GetParam()), std::get<1>(GetParam()));
  }
};

using Row = std::tuple<ServerScheme, unsigned>;

// A pool thread serves one connection at a time, so each client that stays connected needs one.
INSTANTIATE_TEST_SUITE_P(
    Schemes, Serving,
    testing::Values(Row{ServerScheme::acceptor, 1}, Row{ServerScheme::acceptor, 3},
                    Row{ServerScheme::reuseport, 1}, Row{ServerScheme::reuseport, 3},
                    Row{ServerScheme::thread_pool, 4}, Row{ServerScheme::buffered_pool, 4},
                    Row{ServerScheme::thread_per_connection, 0}),
    [](const auto& row) {
      return tests::scheme_name(std::get<0>(row.param)) + std::to_string(std::get<1>(row.param));
    });

Task<Response> sleeper(Request& request) {
  const Result<void> slept = co_await sleep_for(std::chrono::milliseconds(1));
  co_return Response(slept ? 200 : 503, "slept " + std::string(request.param("n")));
}

Task<Response> echo(Request& request) {
  const Result<std::string> body = co_await request.read_all(100'000);
  co_return body ? Response(200, *body) : Response(400);
}

TEST_P(Serving, SeveralClientsAtOnce) {
  Server server(options());
  std::atomic<int> calls{0};
  server.add_handler(GET, "/plain/{n}", [&calls](Request& request) {
    calls.fetch_add(1);
    return Response(200, "plain " + std::string(request.param("n")));
  });
  server.add_handler(GET, "/sleep/{n}", sleeper);
  server.add_handler(POST, "/echo", echo);
  ASSERT_TRUE(server.start());
  constexpr int clients = 8;
  constexpr int rounds = 10;
  std::vector<std::thread> threads;
  for (int number = 0; number < clients; ++number) {
    threads.emplace_back([&server, number] {
      Client client(tests::port_of(server));
      for (int round = 0; round < rounds; ++round) {
        const std::string own = std::to_string(number * rounds + round);
        EXPECT_EQ(client.get("/plain/" + own).body, "plain " + own);
        EXPECT_EQ(client.get("/sleep/" + own).body, "slept " + own);
        client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: " +
                    std::to_string(own.size()) + "\r\n\r\n" + own);
        EXPECT_EQ(client.receive().body, own);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(calls.load(), clients * rounds);
  server.stop();
  server.wait();
}

TEST_P(Serving, ManyShortConnections) {
  Server server(options());
  server.add_handler(GET, "/", [](Request&) { return Response(200, "short"); });
  ASSERT_TRUE(server.start());
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&server] {
      for (int round = 0; round < 50; ++round) {
        Client client(tests::port_of(server));
        client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        const Reply reply = client.receive();
        EXPECT_EQ(reply.body, "short");
        EXPECT_TRUE(reply.says("Connection: close"));
        EXPECT_TRUE(client.ends());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(Serving, WhatHandlersThrowBecomes500) {
  Server server(options());
  server.add_handler(GET, "/plain",
                     [](Request&) -> Response { throw std::runtime_error("as the test wants"); });
  server.add_handler(GET, "/int", [](Request&) -> Response { throw 7; });
  server.add_handler(GET, "/at_once", [](Request&) -> Task<Response> {
    throw std::runtime_error("as the test wants");
    co_return Response(200);
  });
  server.add_handler(GET, "/later", [](Request&) -> Task<Response> {
    co_await sleep_for(std::chrono::milliseconds(1));
    throw std::runtime_error("as the test wants");
  });
  server.add_handler(GET, "/no_field", [](Request&) { return Response(200).add("bad name", "x"); });
  server.add_handler(GET, "/fine", [](Request&) { return Response(200, "fine"); });
  ASSERT_TRUE(server.start());
  Client client(tests::port_of(server));
  for (const char* const target : {"/plain", "/int", "/at_once", "/later", "/no_field"}) {
    const Reply reply = client.get(target);
    EXPECT_EQ(reply.status, 500) << target;
    EXPECT_EQ(reply.body.find("as the test wants"), std::string::npos) << "told to the client";
    EXPECT_EQ(client.get("/fine").body, "fine") << "the connection goes on after " << target;
  }
}

Task<Response> keep_a_piece(Request& request) {
  const Result<std::string_view> piece = co_await request.read();
  const Result<void> slept = co_await sleep_for(std::chrono::milliseconds(50));
  co_return slept ? Response(200, std::string(piece.value())) : Response(503);
}

// A piece is valid until the next read, whatever other connections receive meanwhile.
TEST_P(Serving, APieceOfABodyStaysWhileItsHandlerWaits) {
  Server server(options());
  server.add_handler(POST, "/keep", keep_a_piece);
  server.add_handler(GET, "/other", [](Request&) { return Response(204); });
  ASSERT_TRUE(server.start());
  Client client(tests::port_of(server));
  client.send("POST /keep HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\nvictim body");
  Client other(tests::port_of(server));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(other.get("/other?" + std::string(200, 'x')).status, 204);
  }
  EXPECT_EQ(client.receive().body, "victim body");
}

TEST_P(Serving, FilesOfTheRoot) {
  const tests::TemporaryDirectory directory;
  directory.write("a.txt", "text");
  ServerOptions with_root = options();
  with_root.root = directory.path();
  Server server(with_root);
  server.add_handler(GET, "/{path...}", [](Request& request) {
    const FileRef file = load_file_from_filecache(request.param("path"));
    return file != nullptr ? request.reply_ok_with_file(file) : request.reply_404();
  });
  ASSERT_TRUE(server.start());
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&server] {
      Client client(tests::port_of(server));
      for (int round = 0; round < 20; ++round) {
        EXPECT_EQ(client.get("/a.txt").body, "text");
        EXPECT_EQ(client.get("/gone").status, 404);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(Serving, ALongSleepHasNoUpperBoundThatWraps) {
  Server server(options());
  tests::Signal asleep;
  std::atomic<int> woken{-1};
  struct Context {
    tests::Signal& asleep;
    std::atomic<int>& woken;
  } context{asleep, woken};
  static constexpr auto wraps = std::chrono::milliseconds(std::int64_t{1} << 32) +
                                std::chrono::milliseconds(1);  // 1 ms if truncated to 32 bits
  server.add_handler(GET, "/", [&context](Request&) {
    return [](Context& in) -> Task<Response> {
      in.asleep.set();
      const Result<void> slept = co_await sleep_for(wraps);
      in.woken = slept ? 1 : 0;
      co_return Response(200);
    }(context);
  });
  server.add_handler(GET, "/short", sleeper);
  ASSERT_TRUE(server.start());
  Client client(tests::port_of(server));
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(asleep.wait());
  Client other(tests::port_of(server));
  for (int round = 0; round < 3; ++round) EXPECT_EQ(other.get("/short").status, 200);
  EXPECT_EQ(woken.load(), -1) << "it slept too little";
  server.stop();
  server.stop();
  server.wait();
  EXPECT_EQ(woken.load(), 0);
}

// --- patterns -----------------------------------------------------------------------------------

TEST(AddHandler, BadPatternsThrow) {
  std::string many;
  for (int i = 0; i < 17; ++i) many += "/{p" + std::to_string(i) + "}";
  const std::vector<std::string> patterns = {
      "",      "x",        "x/",        "/{",         "/{}",           "/a{b}",
      "/{a}b", "/{a}/{a}", "/{a...}/b", "/{...}",     "/{a.b}",        "/{a}/{a...}",
      "/a}",   many,       "/taken",    "/taken/{y}", "/taken/{z...}",
  };
  Server server(tests::cleartext());
  const auto handler = [](Request&) { return Response(200); };
  server.add_handler(GET, "/taken", handler);
  server.add_handler(GET, "/taken/{x}", handler);
  server.add_handler(GET, "/taken/{rest...}", handler);
  for (const std::string& pattern : patterns) {
    EXPECT_THROW(server.add_handler(GET, pattern, handler), std::invalid_argument) << pattern;
  }
  EXPECT_THROW(server.add_handler(Method::unknown, "/x", handler), std::invalid_argument);
  EXPECT_NO_THROW(server.add_handler(POST, "/taken", handler));
  EXPECT_NO_THROW(server.add_handler(GET, "/", handler));
}

TEST(AddHandler, ARefusedPatternChangesNothing) {
  Server server(tests::cleartext());
  server.add_handler(GET, "/a", [](Request&) { return Response(200, "first"); });
  EXPECT_THROW(server.add_handler(GET, "/a", [](Request&) { return Response(200, "second"); }),
               std::invalid_argument);
  EXPECT_THROW(server.add_handler(GET, "/b/{x}/{x}", [](Request&) { return Response(200); }),
               std::invalid_argument);
  ASSERT_TRUE(server.start());
  Client client(tests::port_of(server));
  EXPECT_EQ(client.get("/a").body, "first");
  EXPECT_EQ(client.get("/b/1/1").status, 404);
}

}  // namespace server_test
}  // namespace h2server
