#include "app/admin/admin_access.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "h2server/server.h"
#include "server/client.h"

namespace h2server::app {
namespace admin_access_test {

class Peer final : public ConnectionInfo {
 public:
  Peer(std::string host, bool is_unix) : host_(std::move(host)), is_unix_(is_unix) {}
  Address client() const override { return {.host = host_}; }
  bool is_unix_socket() const override { return is_unix_; }

 private:
  std::string host_;
  bool is_unix_;
};

// Returns the status of the refusal, or 0.
int ask(const std::string& token, std::string_view authority, const std::vector<Field>& fields,
        const std::string& peer = "127.0.0.1", bool is_unix = false, std::string_view path = "/") {
  const Middleware access = admin_access({.address = "127.0.0.1:9000", .token = token});
  const Peer connection(peer, is_unix);
  RequestHead head;
  head.authority = authority;
  head.path = path;
  for (const Field& field : fields) head.fields.add(field.name, field.value);
  const PathParams params;
  Request request(head, params, nullptr, nullptr, &connection);
  const std::optional<Response> response = access.before()(request);
  return response ? response->status() : 0;
}

TEST(AdminAccess, WithoutATokenHostsMustNotBeNames) {
  for (const char* const host :
       {"127.0.0.1:9000", "localhost:9000", "LOCALHOST", "[::1]:9000", "192.0.2.1"}) {
    EXPECT_EQ(ask("", host, {}), 0) << host;
  }
  for (const char* const host : {"evil.example:9000", "localhost.evil.example", "", "[", "[]:1"}) {
    EXPECT_EQ(ask("", host, {}), 421) << host;
  }
  EXPECT_EQ(ask("", "any.example", {}, "", true), 0) << "a Unix socket";
  EXPECT_EQ(ask("", "any.example", {}, "", false), 421) << "a client that has reset its connection";
}

TEST(AdminAccess, AnyoneMayAskWhetherItIsReady) {
  for (const std::string_view path : {healthy_path, ready_path}) {
    EXPECT_EQ(ask("", "any.example", {}, "192.0.2.1", false, path), 0);
    EXPECT_EQ(ask("token", "any.example", {}, "192.0.2.1", false, path), 0);
  }
  for (const std::string_view path : {"/-/ready/", "/-/readyz", "/-/metrics", "/"}) {
    EXPECT_EQ(ask("token", "127.0.0.1", {}, "192.0.2.1", false, path), 401) << path;
  }
}

// Lets a request go on once its client has reset the connection, if it is one of TCP.
std::optional<Response> wait_for_reset(Request& request) {
  const auto end = std::chrono::steady_clock::now() + tests::patience;
  while (!request.connection().client().host.empty()) {
    if (std::chrono::steady_clock::now() > end) return Response(503);
    std::this_thread::yield();
  }
  return std::nullopt;
}

// It is not there to read the answer, but what it asks for must not happen.
TEST(AdminAccess, AClientThatHasResetItsConnectionHasNoName) {
  std::promise<int> status;
  ServerOptions options = tests::cleartext();
  options.exchange_hook = [&status](const Request*, const AccessRecord& record) {
    status.set_value(record.status);
  };
  Server server(options);
  server.use(wait_for_reset);
  server.use(admin_access({.address = "127.0.0.1:9000", .token = ""}));
  bool reached = false;
  server.get("/", [&reached](Request&) {
    reached = true;
    return Response(200);
  });
  ASSERT_TRUE(server.start());
  tests::Client client(tests::port_of(server));
  client.send("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  client.reset();
  std::future<int> answered = status.get_future();
  ASSERT_EQ(answered.wait_for(tests::patience), std::future_status::ready);
  EXPECT_EQ(answered.get(), 421);
  server.stop();
  EXPECT_TRUE(server.wait());
  EXPECT_FALSE(reached);
}

TEST(AdminAccess, ATokenIsAskedFor) {
  EXPECT_EQ(ask("t0ken", "admin.example", {}), 401);
  EXPECT_EQ(ask("t0ken", "admin.example", {{"Authorization", "Bearer t0ken"}}), 0);
  EXPECT_EQ(ask("t0ken", "admin.example", {{"Authorization", "Bearer t0kem"}}), 401);
  EXPECT_EQ(ask("t0ken", "admin.example", {{"Authorization", "Bearer "}}), 401);
  // "any:t0ken" and "any:wrong"
  EXPECT_EQ(ask("t0ken", "admin.example", {{"Authorization", "Basic YW55OnQwa2Vu"}}), 0);
  EXPECT_EQ(ask("t0ken", "admin.example", {{"Authorization", "Basic YW55Ondyb25n"}}), 401);
}

TEST(AdminListener, IsAnAddressOrASocket) {
  EXPECT_EQ(admin_listener("127.0.0.1:9000").host, "127.0.0.1");
  EXPECT_EQ(admin_listener("127.0.0.1:9000").port, 9000);
  EXPECT_EQ(admin_listener("[::1]:0").host, "::1");
  EXPECT_EQ(admin_listener("[::1]:0").port, 0);
  EXPECT_EQ(admin_listener("unix:/run/a.sock").unix_path, "/run/a.sock");
  EXPECT_EQ(admin_listener("unix:/run/a.sock").unix_mode, 0600U);
  EXPECT_TRUE(admin_listener("unix:/run/a.sock").cleartext);
}

}  // namespace admin_access_test
}  // namespace h2server::app
