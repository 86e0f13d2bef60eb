// What a handler learns of its connection. tests/system/test_listeners.py has TLS and real clients.
#include "h2server/connection_info.h"

#include <fmt/format.h>

#include "h2server/server.h"
#include "h2server/timing.h"
#include "server/client.h"
#include "server/http2_client.h"

namespace h2server {
namespace {

using tests::Client;

Response describe(Request& request) {
  const ConnectionInfo& connection = request.connection();
  const Address client = connection.client();
  const Address server = connection.server();
  return {200, fmt::format("{} {} {} {}", client.host, client.port != 0 ? "port" : "none",
                           server.host, server.port)};
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

TEST(ConnectionInfo, IsEmptyIfItIsUnknown) {
  const RequestHead head;
  const PathParams params;
  const Request request(head, params, nullptr);
  EXPECT_EQ(request.connection().client(), Address());
  EXPECT_EQ(request.connection().server(), Address());
  EXPECT_FALSE(request.connection().tls());
}

}  // namespace
}  // namespace h2server
