#include "h2server/forwarded.h"

#include <gtest/gtest.h>

#include "h2server/rate_limit.h"

namespace h2server {
namespace forwarded_test {

class Peer final : public ConnectionInfo {
 public:
  explicit Peer(std::string host) : host_(std::move(host)) {}
  Address client() const override { return {.host = host_ == "unix" ? "" : host_}; }
  bool is_unix_socket() const override { return host_ == "unix"; }

 private:
  std::string host_;
};

struct Row {
  std::string peer;
  std::vector<Field> fields;
  std::string client;  // empty: none attached
};

std::string client_of(const Row& row) {
  static const Middleware middleware =
      forwarded_client({"127.0.0.1", "10.0.0.0/8", "2001:db8:1::/48"});
  const Peer peer(row.peer);
  RequestHead head;
  for (const Field& field : row.fields) head.fields.add(field.name, field.value);
  const PathParams params;
  Request request(head, params, nullptr, nullptr, &peer);
  EXPECT_FALSE(middleware.before()(request));
  const ForwardedClient* const client = request.attached<ForwardedClient>();
  if (client != nullptr) {
    EXPECT_TRUE(client_network(request).starts_with(client->address.substr(0, 4)));
  }
  return client != nullptr ? client->address : "";
}

TEST(ForwardedClient, IsTheLastAddressThatNoProxyHas) {
  const Row rows[] = {
      {"127.0.0.1", {}, ""},
      {"127.0.0.1", {{"X-Forwarded-For", "203.0.113.9"}}, "203.0.113.9"},
      {"198.51.100.1", {{"X-Forwarded-For", "203.0.113.9"}}, ""},  // not a proxy of ours
      {"unix", {{"X-Forwarded-For", "203.0.113.9"}}, "203.0.113.9"},
      {"", {{"X-Forwarded-For", "203.0.113.9"}}, ""},  // TCP, and reset
      // What the client wrote itself stands in front.
      {"127.0.0.1", {{"X-Forwarded-For", "1.1.1.1, 203.0.113.9"}}, "203.0.113.9"},
      {"127.0.0.1", {{"X-Forwarded-For", "1.1.1.1, 203.0.113.9, 10.1.2.3"}}, "203.0.113.9"},
      {"127.0.0.1",
       {{"x-forwarded-for", "203.0.113.9"}, {"X-Forwarded-For", "10.0.0.2"}},
       "203.0.113.9"},
      {"127.0.0.1", {{"X-Forwarded-For", "10.0.0.1, 10.0.0.2"}}, "10.0.0.1"},
      {"127.0.0.1", {{"X-Forwarded-For", "203.0.113.9:4711"}}, "203.0.113.9"},
      {"127.0.0.1", {{"X-Forwarded-For", "2001:db8::9"}}, "2001:db8::9"},
      {"127.0.0.1", {{"X-Forwarded-For", "[2001:db8::9]:4711"}}, "2001:db8::9"},
      {"127.0.0.1", {{"X-Forwarded-For", "unknown"}}, ""},
      // No nodes of RFC 7239, 6.
      {"127.0.0.1", {{"X-Forwarded-For", "[2001:db8::9"}}, ""},
      {"127.0.0.1", {{"X-Forwarded-For", "[2001:db8::9]x"}}, ""},
      {"127.0.0.1", {{"X-Forwarded-For", "[2001:db8::9]:"}}, ""},
      {"127.0.0.1", {{"X-Forwarded-For", "[203.0.113.9]"}}, ""},
      {"127.0.0.1", {{"X-Forwarded-For", "203.0.113.9:x"}}, ""},
      {"127.0.0.1", {{"X-Forwarded-For", "203.0.113.9:123456"}}, ""},
      {"127.0.0.1", {{"Forwarded", "for=\"203.0.113.9:_a-1\""}}, "203.0.113.9"},
      {"127.0.0.1", {{"X-Forwarded-For", "203.0.113.9, , 10.0.0.1"}}, "10.0.0.1"},
      {"127.0.0.1", {{"X-Forwarded-For", "evil\", 10.0.0.1"}}, ""},
      {"127.0.0.1", {{"X-Forwarded-For", ""}}, ""},
      {"127.0.0.1", {{"Forwarded", "for=203.0.113.9;proto=https;by=10.0.0.1"}}, "203.0.113.9"},
      {"127.0.0.1", {{"Forwarded", "proto=https; For=\"[2001:db8::9]:80\""}}, "2001:db8::9"},
      {"127.0.0.1", {{"Forwarded", "for=203.0.113.9, for=10.0.0.1"}}, "203.0.113.9"},
      {"127.0.0.1", {{"Forwarded", "for=_hidden, for=10.0.0.1"}}, "10.0.0.1"},
      {"127.0.0.1", {{"Forwarded", "for=unknown"}}, ""},
      // A proxy sets one and lets a client's other one pass: neither is believed.
      {"127.0.0.1", {{"Forwarded", "for=unknown"}, {"X-Forwarded-For", "203.0.113.9"}}, ""},
      {"127.0.0.1", {{"Forwarded", "for=1.1.1.1"}, {"X-Forwarded-For", "203.0.113.9"}}, ""},
      {"127.0.0.1", {{"X-Forwarded-For", "::ffff:203.0.113.9"}}, "203.0.113.9"},
      {"127.0.0.1", {{"X-Forwarded-For", "203.0.113.9%1"}}, ""},
      {"127.0.0.1", {{"Forwarded", "for=203.0.113.9%1"}}, ""},
      {"2001:db8:1::5", {{"Forwarded", "for=\"203.0.113.9\""}}, "203.0.113.9"},
      {"127.0.0.1", {{"Forwarded", "by=\"a,for=1.1.1.1\";for=203.0.113.9"}}, "203.0.113.9"},
  };
  for (const Row& row : rows) {
    const std::string shown = row.fields.empty() ? "none" : std::string(row.fields.front().value);
    EXPECT_EQ(client_of(row), row.client) << shown;
  }
}

// The work for a field is proportional to its size: 30 000 separators, and only the last elements.
TEST(ForwardedClient, LooksAtTheLastElements) {
  std::string many;
  for (int i = 0; i < 100; ++i) many += "10.0.0.1, ";
  const std::string field = "203.0.113.9, " + many + "10.0.0.2";
  EXPECT_EQ(client_of({"127.0.0.1", {{"X-Forwarded-For", field}}, ""}), "10.0.0.1");
  const std::string separators(30'000, ';');
  EXPECT_EQ(client_of({"127.0.0.1", {{"Forwarded", separators}}, ""}), "");
}

TEST(ForwardedClient, RefusesWhatIsNoNetwork) {
  EXPECT_THROW((void)forwarded_client({"localhost"}), std::invalid_argument);
}

}  // namespace forwarded_test
}  // namespace h2server
