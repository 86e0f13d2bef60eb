#include "app/top/top.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "app/http_stub.h"

namespace h2server::app {
namespace top_test {

using tests::HttpStub;

TEST(Top, Options) {
  struct Row {
    std::vector<std::string> arguments;
    std::string admin = "127.0.0.1:9000";
    std::string token = {};
    bool once = false;
  };
  const std::vector<Row> rows = {
      {{}},
      {{"--once"}, "127.0.0.1:9000", "", true},
      {{"--admin", "[::1]:1"}, "[::1]:1"},
      {{"--admin=localhost:65535"}, "localhost:65535"},
      {{"--admin", "unix:/run/a"}, "unix:/run/a"},
      {{"--token", "a=b", "--admin=unix:x"}, "unix:x", "a=b"},
      {{"--token=a=b"}, "127.0.0.1:9000", "a=b"},
  };
  for (const Row& row : rows) {
    const auto options = parse_top_options(row.arguments);
    ASSERT_TRUE(options) << options.error();
    EXPECT_EQ(options->admin, row.admin);
    EXPECT_EQ(options->token, row.token);
    EXPECT_EQ(options->once, row.once);
  }
}

TEST(Top, WrongOptions) {
  struct Row {
    std::vector<std::string> arguments;
    std::string_view reason;
  };
  const std::vector<Row> rows = {
      {{"--port", "1"}, "--port"},
      {{"x"}, "does not know x"},
      {{"--admin"}, "--admin takes a value"},
      {{"--once=1"}, "--once takes no value"},
      {{"--admin", "9000"}, "expected ADDRESS:PORT"},
      {{"--admin", ":9000"}, "expected ADDRESS:PORT"},
      {{"--admin", "a:0"}, "expected ADDRESS:PORT"},
      {{"--admin", "a:65536"}, "expected ADDRESS:PORT"},
      {{"--admin", "a:x"}, "expected ADDRESS:PORT"},
      {{"--admin", "http://a:1"}, "expected ADDRESS:PORT"},
      {{"--admin", "me@a:1"}, "expected ADDRESS:PORT"},
      {{"--admin", "unix:"}, "expected ADDRESS:PORT"},
      {{"--token", "a\r\nb"}, "--token"},
  };
  for (const Row& row : rows) {
    const auto options = parse_top_options(row.arguments);
    ASSERT_FALSE(options) << row.reason;
    EXPECT_NE(options.error().find(row.reason), std::string::npos) << options.error();
  }
}

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};

Outcome run(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  arguments.insert(arguments.begin(), "top");
  for (std::string& argument : arguments) argv.push_back(argument.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = top(static_cast<int>(argv.size()), argv.data());
  return {.status = status,
          .out = testing::internal::GetCapturedStdout(),
          .err = testing::internal::GetCapturedStderr()};
}

std::string address_of(const HttpStub& stub) {
  return stub.url("").substr(std::string_view("http://").size());
}

TEST(Top, PrintsOnce) {
  HttpStub stub({"200"}, R"({"version":"1.2.3","pid":7,"workers":[{"number":1}]})");
  const Outcome outcome = run({"--once", "--admin", address_of(stub), "--token", "secret"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("h2server 1.2.3  up -  process 7")) << outcome.out;
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos) << "a file has no colours";
  EXPECT_EQ(outcome.err, "");
  const auto received = stub.wait_for(1);
  EXPECT_TRUE(received[0].head.starts_with("GET /-/status.json HTTP/1.1\r\n"));
  EXPECT_NE(received[0].head.find("Authorization: Bearer secret"), std::string::npos);
}

// Each row: what the admin listener answers, and what the message says.
TEST(Top, SaysWhyThereIsNoStatus) {
  struct Row {
    std::string answer;
    std::string body;
    std::string_view message;
  };
  const std::vector<Row> rows = {
      {"401", "", "--token TOKEN"},  {"403", "", "--token TOKEN"},
      {"404", "{}", "answers 404"},  {"200", "<html>", "no status of h2server"},
      {"close", "", "cannot reach"},
  };
  for (const Row& row : rows) {
    HttpStub stub({row.answer}, row.body);
    const Outcome outcome = run({"--admin", address_of(stub)});
    EXPECT_EQ(outcome.status, 1) << row.answer;
    EXPECT_NE(outcome.err.find(row.message), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(Top, NobodyListens) {
  const Outcome outcome = run({"--admin", "unix:/nonexistent/socket"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("unix:/nonexistent/socket: No such file"), std::string::npos)
      << outcome.err;
}

TEST(Top, WrongUse) {
  const Outcome outcome = run({"--bogus"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("--bogus"), std::string::npos);
  EXPECT_EQ(run({"--help"}).status, 0);
}

}  // namespace top_test
}  // namespace h2server::app
