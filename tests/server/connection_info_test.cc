// What a handler learns of its connection. tests/system/test_listeners.py has TLS and real clients.
#include "h2server/connection_info.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <future>
#include <string>
#include <string_view>
#include <thread>

#include "base/fd.h"
#include "content/support.h"
#include "h2server/server.h"
#include "h2server/timing.h"
#include "server/client.h"
#include "server/http2_client.h"

namespace h2server {
namespace connection_info_test {

using tests::Client;

Response describe(Request& request) {
  const ConnectionInfo& connection = request.connection();
  const Address client = connection.client();
  const Address server = connection.server();
  return {200, fmt::format("{} {} {} {}", client.host, client.port != 0 ? "port" : "none",
                           server.host, server.port)};
}

// Closes the connection behind the bytes.
void send_to_unix(const std::string& path, std::string_view bytes) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const base::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

TEST(ConnectionInfo, HandlersSeeTheAddresses) {
  for (const ServerScheme scheme : tests::schemes) {
    SCOPED_TRACE(tests::scheme_name(scheme));
    Server server(tests::cleartext(scheme, 2));
    server.add_handler(GET, "/", describe);
    server.add_handler(GET, "/c", [](Request& request) -> Task<Response> {
      co_await sleep_for(std::chrono::milliseconds(1));
      co_return describe(request);
    });
    server.add_handler(GET, "/t", [](Request& request) {
      return Response(200, request.connection().tls() ? "TLS" : "cleartext");
    });
    ASSERT_TRUE(server.start());
    const std::uint16_t port = tests::port_of(server);
    const std::string expected = fmt::format("127.0.0.1 port 127.0.0.1 {}", port);
    Client client(port);
    EXPECT_EQ(client.get("/").body, expected);
    EXPECT_EQ(client.get("/c").body, expected);
    EXPECT_EQ(client.get("/t").body, "cleartext");
    tests::Http2Client http2(port);
    EXPECT_EQ(http2.get("/"), expected);
    EXPECT_EQ(http2.get("/c"), expected);
    EXPECT_EQ(http2.get("/t"), "cleartext");
  }
}

// What the handler finds once the client has no address. Outlives the server.
class Found {
 public:
  Response answer(Request& request) {
    const ConnectionInfo& connection = request.connection();
    const auto end = std::chrono::steady_clock::now() + tests::patience;
    while (!connection.client().host.empty() && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    found_.set_value(connection.client().host +
                     (connection.is_unix_socket() ? "a Unix socket" : "TCP"));
    return Response(200);
  }
  std::string wait() {
    std::future<std::string> future = found_.get_future();
    const bool ready = future.wait_for(tests::patience) == std::future_status::ready;
    return ready ? future.get() : "nothing";
  }

 private:
  std::promise<std::string> found_;
};

// A client of TCP that has reset its connection has no address, as one of a Unix socket has none.
TEST(ConnectionInfo, TellsUnixSocketsByTheirFamily) {
  const tests::TemporaryDirectory directory;
  for (const ServerScheme scheme : tests::schemes) {
    SCOPED_TRACE(tests::scheme_name(scheme));
    ServerOptions options;
    options.scheme = scheme;
    options.threads = 2;
    options.listeners = {{.host = "127.0.0.1", .port = 0, .cleartext = true},
                         {.unix_path = directory.path_of("socket"), .cleartext = true}};
    Found tcp;
    Found local;
    Server server(options);
    server.get("/tcp", [&tcp](Request& request) { return tcp.answer(request); });
    server.get("/unix", [&local](Request& request) { return local.answer(request); });
    ASSERT_TRUE(server.start());
    Client client(tests::port_of(server));
    client.send("GET /tcp HTTP/1.1\r\nHost: test\r\n\r\n");
    client.reset();
    EXPECT_EQ(tcp.wait(), "TCP");
    send_to_unix(directory.path_of("socket"), "GET /unix HTTP/1.1\r\nHost: test\r\n\r\n");
    EXPECT_EQ(local.wait(), "a Unix socket");
  }
}

TEST(ConnectionInfo, IsEmptyIfItIsUnknown) {
  const RequestHead head;
  const PathParams params;
  const Request request(head, params, nullptr);
  EXPECT_EQ(request.connection().client(), Address());
  EXPECT_EQ(request.connection().server(), Address());
  EXPECT_FALSE(request.connection().tls());
  EXPECT_FALSE(request.connection().is_unix_socket());
}

}  // namespace connection_info_test
}  // namespace h2server
