#include "app/acme/acme_messages.h"

#include <gtest/gtest.h>

#include <string>

namespace h2server::app {
namespace acme_messages_test {

TEST(AcmeMessages, Timestamps) {
  const std::pair<const char*, std::int64_t> good[] = {
      {"1970-01-01T00:00:00Z", 0},
      {"2021-01-03T00:00:00Z", 1609632000},
      {"2021-01-03t00:00:00z", 1609632000},
      {"2021-01-03 00:00:00Z", 1609632000},
      {"2021-01-03T00:00:00.123456789Z", 1609632000},
      {"2021-01-03T01:30:00+01:30", 1609632000},
      {"2021-01-02T19:00:00-05:00", 1609632000},
      {"2024-02-29T23:59:60Z", 1709251200},
  };
  for (const auto& [text, seconds] : good) EXPECT_EQ(parse_timestamp(text), seconds) << text;
  for (const char* const text :
       {"", "2021", "2021-01-03", "2021-01-03T00:00:00", "2021-01-03T00:00Z",
        "2021-13-03T00:00:00Z", "2021-02-29T00:00:00Z", "2021-01-03T24:00:00Z",
        "2021-01-03T00:60:00Z", "2021-01-03T00:00:61Z", "2021-01-03T00:00:00+1:30",
        "2021-01-03T00:00:00+01:60", "2021-01-03T00:00:00Zx", "21-01-03T00:00:00Z",
        "2021-01-03T00:00:00.", "x021-01-03T00:00:00Z", "2021-01-03T00:00:00+24:00",
        "-021-01-03T00:00:00Z"}) {
    EXPECT_EQ(parse_timestamp(text), std::nullopt) << text;
  }
}

TEST(AcmeMessages, Directory) {
  const auto directory = parse_directory(
      R"({"newNonce":"https://a/n","newAccount":"https://a/a","newOrder":"https://a/o","x":[1],
          "renewalInfo":"https://a/r","meta":{"termsOfService":"https://a/t","website":7}})");
  ASSERT_TRUE(directory) << directory.error();
  EXPECT_EQ(directory->new_nonce, "https://a/n");
  EXPECT_EQ(directory->new_account, "https://a/a");
  EXPECT_EQ(directory->new_order, "https://a/o");
  EXPECT_EQ(directory->renewal_info, "https://a/r");
  EXPECT_EQ(directory->terms_of_service, "https://a/t");
  EXPECT_FALSE(parse_directory(
      R"({"newNonce":"n","newAccount":"a","newOrder":"o","meta":{"externalAccountRequired":true}})"));
}

// Whatever the server sends, it is taken apart or refused.
TEST(AcmeMessages, RefusesWhatIsNoMessage) {
  for (const char* const text :
       {"", "{", "null", "[]", "7", "\"x\"", "{}", R"({"status":7,"finalize":[]})",
        R"({"status":"valid"})", R"({"newNonce":1,"newAccount":{},"newOrder":[]})", "\xff\xfe",
        R"({"suggestedWindow":[]})", R"({"suggestedWindow":{"start":"x","end":"y"}})"}) {
    EXPECT_FALSE(parse_directory(text)) << text;
    EXPECT_FALSE(parse_order(text)) << text;
    EXPECT_FALSE(parse_authorization(text)) << text;
    EXPECT_FALSE(parse_renewal_info(text)) << text;
  }
}

TEST(AcmeMessages, Order) {
  const auto order = parse_order(
      R"({"status":"invalid","finalize":"https://a/f","authorizations":["https://a/1",7,"https://a/2"],
          "certificate":"https://a/c","error":{"type":"urn:ietf:params:acme:error:caa",
          "detail":"forbidden","subproblems":[{"detail":"by CAA","identifier":{"value":"b.test"}}]}})");
  ASSERT_TRUE(order) << order.error();
  EXPECT_EQ(order->status, AcmeStatus::invalid);
  EXPECT_EQ(order->authorizations, (std::vector<std::string>{"https://a/1", "https://a/2"}));
  EXPECT_EQ(order->finalize, "https://a/f");
  EXPECT_EQ(order->certificate, "https://a/c");
  ASSERT_TRUE(order->error);
  EXPECT_EQ(order->error->type, "caa");
  EXPECT_EQ(order->error->detail, "forbidden; b.test: by CAA");
}

TEST(AcmeMessages, States) {
  const std::pair<const char*, AcmeStatus> rows[] = {
      {"pending", AcmeStatus::pending},       {"ready", AcmeStatus::ready},
      {"processing", AcmeStatus::processing}, {"valid", AcmeStatus::valid},
      {"invalid", AcmeStatus::invalid},       {"deactivated", AcmeStatus::over},
      {"expired", AcmeStatus::over},          {"revoked", AcmeStatus::over},
  };
  for (const auto& [name, status] : rows) {
    const auto order = parse_order(R"({"finalize":"f","status":")" + std::string(name) + "\"}");
    ASSERT_TRUE(order) << name;
    EXPECT_EQ(order->status, status) << name;
  }
  EXPECT_FALSE(parse_order(R"({"finalize":"f","status":"other"})"));
}

TEST(AcmeMessages, Authorization) {
  const auto authorization = parse_authorization(
      R"({"status":"pending","identifier":{"type":"dns","value":"a.test"},"challenges":[
          {"type":"http-01","url":"https://a/1","token":"t","status":"pending"},
          {"type":"dns-01","url":"https://a/2","status":"invalid","error":{"detail":"no"}}]})");
  ASSERT_TRUE(authorization) << authorization.error();
  EXPECT_EQ(authorization->host, "a.test");
  ASSERT_EQ(authorization->challenges.size(), 2u);
  EXPECT_EQ(authorization->challenges[0].type, "http-01");
  EXPECT_EQ(authorization->challenges[0].token, "t");
  EXPECT_FALSE(authorization->challenges[0].error);
  ASSERT_TRUE(authorization->challenges[1].error);
  EXPECT_EQ(authorization->challenges[1].error->detail, "no");
}

TEST(AcmeMessages, HostsArePrintable) {
  const auto authorization = parse_authorization(
      R"({"status":"pending","identifier":{"value":"a.test\nforged\u001b[31m\u00fc"}})");
  ASSERT_TRUE(authorization) << authorization.error();
  EXPECT_EQ(authorization->host, "a.test?forged?[31m??");
  const auto long_one = parse_authorization(R"({"status":"pending","identifier":{"value":")" +
                                            std::string(10'000, 'x') + "\"}}");
  ASSERT_TRUE(long_one) << long_one.error();
  EXPECT_EQ(long_one->host.size(), 500u);
}

// As deep as a response may be long.
TEST(AcmeMessages, DeepNesting) {
  const std::string open(500'000, '[');
  const std::string close(500'000, ']');
  EXPECT_FALSE(parse_order(open));
  EXPECT_FALSE(parse_order(open + close));
  const auto order = parse_order(R"({"status":"ready","finalize":"f","x":)" + open + close + "}");
  EXPECT_TRUE(order);
}

TEST(AcmeMessages, RenewalInfo) {
  const auto window = parse_renewal_info(
      R"({"suggestedWindow":{"start":"2021-01-03T00:00:00Z","end":"2021-01-07T00:00:00Z"},
          "explanationURL":"https://a/why"})");
  ASSERT_TRUE(window) << window.error();
  EXPECT_EQ(window->start_s, 1609632000);
  EXPECT_EQ(window->end_s, 1609977600);
  EXPECT_EQ(window->explanation_url, "https://a/why");
  EXPECT_FALSE(parse_renewal_info(
      R"({"suggestedWindow":{"start":"2021-01-07T00:00:00Z","end":"2021-01-03T00:00:00Z"}})"));
}

TEST(AcmeMessages, Problems) {
  const AcmeProblem limited = parse_problem(
      R"({"type":"urn:ietf:params:acme:error:rateLimited","detail":"too\nmany\u001b[31m"})", 429);
  EXPECT_EQ(limited.type, "rateLimited");
  EXPECT_EQ(limited.detail, "too?many?[31m");
  const AcmeProblem none = parse_problem("<html>", 502);
  EXPECT_EQ(none.type, "");
  EXPECT_EQ(none.detail, "it answers 502");
  const AcmeProblem large = parse_problem(R"({"detail":")" + std::string(10'000, 'x') + "\"}", 500);
  EXPECT_EQ(large.detail.size(), 500u);
}

}  // namespace acme_messages_test
}  // namespace h2server::app
