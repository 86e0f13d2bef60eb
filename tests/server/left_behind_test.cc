// Handlers that do not end when the server stops: the server logs them and ends without them.
#include <atomic>
#include <coroutine>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <semaphore>
#include <vector>

#include "content/support.h"
#include "h2server/server.h"
#include "net/tls_handshake.h"
#include "server/client.h"

namespace h2server {
namespace left_behind_test {

using tests::Client;

// Coroutines that are never resumed. Kept reachable for leak checkers.
std::vector<std::coroutine_handle<>>& stranded() {
  static auto* const all = new std::vector<std::coroutine_handle<>>;
  return *all;
}
std::atomic<bool> stranding{false};

struct Never {
  bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiter) {
    while (stranding.exchange(true)) {
    }
    stranded().push_back(waiter);
    stranding = false;
  }
  void await_resume() noexcept {}
};

tests::Signal& entered() {
  static auto* const signal = new tests::Signal;
  return *signal;
}
// Blocks a thread that is left behind. Never freed, because the thread may outlive the test.
using Gate = std::counting_semaphore<>;
Gate& new_gate() {
  static auto* const all = new std::deque<std::unique_ptr<Gate>>;
  return *all->emplace_back(std::make_unique<Gate>(0));
}

Task<Response> never(Request&) {
  entered().set();
  co_await Never();
  co_return Response(200);
}

class LeftBehind : public testing::TestWithParam<ServerScheme> {
 protected:
  LeftBehind() : server_(options()) {
    server_.add_handler(GET, "/never/{name}", never);
    server_.add_handler(GET, "/hang", [&gate = gate_](Request&) {
      entered().set();
      gate.acquire();
      return Response(200);
    });
  }
  void begin(const std::string& target) {
    ASSERT_TRUE(server_.start());
    client_.emplace(tests::port_of(server_));
    client_->send("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
    ASSERT_TRUE(entered().wait());
  }
  // Returns what the server logs while it ends. Checks that it ends in time.
  std::string wait() {
    testing::internal::CaptureStderr();
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_TRUE(std::filesystem::exists(directory_.path_of("socket")));
    EXPECT_FALSE(server_.wait());
    EXPECT_FALSE(std::filesystem::exists(directory_.path_of("socket")));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, tests::patience);
    return testing::internal::GetCapturedStderr();
  }
  ServerOptions options() const {
    ServerOptions options;
    options.scheme = GetParam();
    options.threads = 1;
    options.listeners = {{.host = "127.0.0.1", .port = 0, .cleartext = true},
                         {.unix_path = directory_.path_of("socket"), .cleartext = true}};
    options.drain_limit = std::chrono::milliseconds(1);
    return options;
  }
  bool has_loop() const { return !server::kind_of(GetParam()).blocking; }

  Gate& gate_ = new_gate();
  const tests::TemporaryDirectory directory_;
  Server server_;
  std::optional<Client> client_;
};

INSTANTIATE_TEST_SUITE_P(Schemes, LeftBehind, testing::ValuesIn(tests::schemes),
                         [](const auto& row) { return tests::scheme_name(row.param); });

TEST_P(LeftBehind, AHandlerThatNobodyResumes) {
  begin("/never/one");
  server_.stop();
  const std::string log = wait();
  const std::string line = has_loop() ? "left behind: GET /never/one (route /never/{name})"
                                      : "a thread was left behind; its last request was for "
                                        "GET /never/{name}";
  EXPECT_NE(log.find(line), std::string::npos) << log;
  EXPECT_TRUE(server_.wait());  // nothing is left to wait for
}

TEST_P(LeftBehind, AHandlerThatHoldsItsThread) {
  begin("/hang");
  server_.stop();
  const std::string log = wait();
  EXPECT_NE(log.find("last request was for GET /hang"), std::string::npos) << log;
  gate_.release();
}

std::atomic<int> noted{0};
// Set once the request of the handler that was left behind is destroyed.
tests::Signal& request_gone() {
  static auto* const signal = new tests::Signal;
  return *signal;
}

// It outlives the server, its options, and the log. What it still does is told to none of them.
TEST_P(LeftBehind, AHandlerIsNotObservedAnyMore) {
  ServerOptions observed = options();
  observed.metrics = true;
  observed.access_log.target = directory_.path_of("log");
  observed.exchange_hook = [](const Request*, const AccessRecord&) { ++noted; };
  auto server = std::make_unique<Server>(std::move(observed));
  server->get("/hang", [&gate = gate_](Request& request) {
    request.attach(
        std::shared_ptr<tests::Signal>(&request_gone(), [](auto* gone) { gone->set(); }));
    entered().set();
    gate.acquire();
    return Response(200);
  });
  ASSERT_TRUE(server->start());
  noted = 0;
  Client client(tests::port_of(*server));
  EXPECT_EQ(client.get("/none").status, 404);
  client.send("GET /hang HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(entered().wait());
  EXPECT_EQ(noted, 1) << "the first request";
  server->stop();
  testing::internal::CaptureStderr();
  EXPECT_FALSE(server->wait());
  testing::internal::GetCapturedStderr();
  server.reset();
  gate_.release();
  ASSERT_TRUE(request_gone().wait());
  EXPECT_EQ(noted, 1);
}

// A server in cleartext with a handler that nobody resumes. The drain limit is an hour, so only the
// second stop ends it.
class LeftBehindOnce : public testing::Test {
 protected:
  void begin(ServerOptions options) {
    options.drain_limit = std::chrono::hours(1);
    server_.emplace(std::move(options));
    server_->add_handler(GET, "/never", never);
    ASSERT_TRUE(server_->start());
    client_.emplace(tests::port_of(*server_));
    client_->send("GET /never HTTP/1.1\r\nHost: x\r\n\r\n");
    ASSERT_TRUE(entered().wait());
  }

  std::optional<Server> server_;
  std::optional<Client> client_;
};

TEST_F(LeftBehindOnce, AtTheSecondStop) {
  begin(tests::cleartext());
  Server& server = *server_;
  server.stop();
  server.stop();
  testing::internal::CaptureStderr();
  EXPECT_FALSE(server.wait());
  EXPECT_NE(testing::internal::GetCapturedStderr().find("GET /never (route /never)"),
            std::string::npos);
}

// Another thread may ask for it at any time.
TEST_F(LeftBehindOnce, WhileLogsAndCertificatesAreReloaded) {
  ServerOptions options;
  options.threads = 1;
  net::Files files;
  const CertificateFiles pair =
      files.write_pair("pair", net::make_identity("name", net::ec_key(), nullptr));
  options.certificate_file = pair.certificate_file;
  options.key_file = pair.key_file;
  options.listeners = {{.host = "127.0.0.1", .port = 0, .cleartext = true},
                       {.host = "127.0.0.1", .port = 0}};
  begin(std::move(options));
  Server& server = *server_;
  std::atomic<bool> over{false};
  std::thread reloading([&] {
    while (!over.load()) {
      server.reopen_logs();
      EXPECT_TRUE(server.reload_certificates());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  server.stop();
  server.stop();
  testing::internal::CaptureStderr();
  EXPECT_FALSE(server.wait());
  over.store(true);
  reloading.join();
  testing::internal::GetCapturedStderr();
}

}  // namespace left_behind_test
}  // namespace h2server
