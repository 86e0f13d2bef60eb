// What the heads of requests hold: a connection bounds it, and gives it back when it can.
#include "http/h2/connection_fixture.h"

namespace h2server::http::h2 {

class ConnectionHeads : public ConnectionFixture {
 protected:
  // Notes what the end of an exchange reads.
  struct Observer final : ConnectionObserver {
    std::int64_t now_us() const noexcept override { return 1; }
    void ended(const ExchangeState& exchange, std::uint32_t) noexcept override {
      const RequestHead& head = exchange.head;
      lines.push_back(std::string(head.method_name) + " " + std::string(head.target) + " " +
                      std::string(head.authority));
      for (const Field& field : head.fields) {
        lines.back() += " " + std::string(field.name) + "=" + std::string(field.value.substr(0, 5));
      }
    }
    std::optional<std::span<const std::string_view>> fields_read() const noexcept override {
      if (reads_all) return std::nullopt;
      return names;
    }
    void reset(bool) noexcept override {}
    void failed(const ConnectionError& error) noexcept override { code = error.code; }

    std::vector<std::string_view> names = {"user-agent"};
    bool reads_all = false;
    std::vector<std::string> lines;
    std::uint32_t code = 0;
  };

  ConnectionHeads() {
    const auto hold = [this](Request&) -> Task<Response> {
      co_await held_.emplace_back().wait();
      co_return Response(200, "held");
    };
    add(GET, "/hold", hold);
    add(POST, "/hold", hold);
    add(GET, "/large", [](Request&) { return Response(200, std::string(200'000, 'x')); });
  }

  void release() {
    for (coro::Event& event : held_) event.set();
  }
  // The client reads nothing, so its windows stay closed.
  void send() { transport_.arrive(client_.bytes()); }
  void request_large(int count, std::size_t field_bytes = 20'000) {
    for (int i = 0; i < count; ++i) {
      client_.request("GET", "/large",
                      {{"user-agent", "curl"}, {"x", std::string(field_bytes, 'y')}});
    }
    send();
  }
  // Returns how many requests were refused, after the client has read what there is.
  std::size_t refused() {
    client_.receive(read_writes());
    std::size_t count = 0;
    for (const auto& [id, answer] : client_.answers) {
      count += answer.reset == static_cast<std::uint32_t>(NGHTTP2_REFUSED_STREAM);
    }
    return count;
  }

  std::deque<coro::Event> held_;
  Observer observer_;
};

INSTANTIATE_TEST_SUITE_P(, ConnectionHeads,
                         testing::Values(Http2Implementation::native, Http2Implementation::nghttp2),
                         [](const auto& one) { return name_of(one.param); });

TEST_P(ConnectionHeads, AreBoundedTogether) {
  open();
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 20; ++i) {  // 20 * 20 kB
    ids.push_back(client_.request("GET", "/hold", {{"x", std::string(20'000, 'y')}}));
    settle();
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool is_refused =
        answer(ids[i]).reset == static_cast<std::uint32_t>(NGHTTP2_REFUSED_STREAM);
    EXPECT_EQ(is_refused, i >= 14) << i;
  }
  release();  // ends the others
  settle();
  EXPECT_EQ(answer(ids[0]).body, "held");
  const std::int32_t later = client_.request("GET", "/hello", {{"x", std::string(20'000, 'y')}});
  settle();
  EXPECT_EQ(answer(later).body, "hello");
  transport_.end();
}

TEST_P(ConnectionHeads, OfAnsweredRequestsAreGivenBack) {
  open();
  request_large(1);
  settle();
  for (int i = 0; i < 4; ++i) request_large(25);
  EXPECT_EQ(refused(), 0U);
  transport_.end();
}

TEST_P(ConnectionHeads, ManySmallFieldsCountToo) {
  limits_.fields_max = 1000;
  open();
  for (int i = 0; i < 20; ++i) {
    Headers fields;
    for (int field = 0; field < 950; ++field) fields.emplace_back("a", "");
    client_.request("GET", "/hold", fields);
  }
  settle();
  EXPECT_GT(refused(), 5U);
  release();
  transport_.end();
}

// As from a browser with cookies, or a proxy.
TEST_P(ConnectionHeads, OrdinaryOnesAreNotRefused) {
  open();
  request_large(1, 30'000);
  settle();
  std::vector<std::int32_t> ids;
  for (std::uint32_t i = 0; i < limits_.streams_max; ++i) {
    ids.push_back(client_.request("GET", "/hold", {{"cookie", std::string(3'000, 'y')}}));
  }
  settle();
  EXPECT_EQ(refused(), 0U);
  release();
  settle();
  for (const std::int32_t id : ids) EXPECT_EQ(answer(id).body, "held");
  transport_.end();
}

TEST_P(ConnectionHeads, KeepWhatTheObserverReads) {
  traits_.observer = &observer_;
  open();
  request_large(60);
  EXPECT_EQ(refused(), 0U);
  transport_.end();
  ASSERT_EQ(observer_.lines.size(), 60U);
  // The last ones may be whole.
  EXPECT_GT(std::ranges::count(observer_.lines, "GET /large a user-agent=curl"), 50);
  for (const std::string& line : observer_.lines) {
    EXPECT_TRUE(line.starts_with("GET /large a user-agent=curl")) << line;
  }
}

TEST_P(ConnectionHeads, StayWholeIfTheObserverReadsThemWhole) {
  observer_.reads_all = true;
  traits_.observer = &observer_;
  open();
  request_large(20);
  EXPECT_EQ(refused(), 6U);
  transport_.end();
  ASSERT_EQ(observer_.lines.size(), 20U);
  for (const std::string& line : observer_.lines) {
    EXPECT_EQ(line, "GET /large a user-agent=curl x=yyyyy");
  }
}

TEST_P(ConnectionHeads, AFloodOfRefusedOnesEndsTheConnection) {
  limits_.resets_max = 10;
  limits_.resets_per_s_max = 1;
  traits_.observer = &observer_;
  observer_.reads_all = true;
  open();
  request_large(24);  // 14 fit
  EXPECT_EQ(refused(), 10U);
  EXPECT_FALSE(over());
  request_large(1);
  EXPECT_EQ(observer_.code, NGHTTP2_ENHANCE_YOUR_CALM);
  transport_.end();
}

TEST_P(ConnectionHeads, TrailersCountToo) {
  open();
  std::vector<std::int32_t> ids;
  const Headers trailers = {{"x-end", std::string(30'000, 'y')}};
  for (int i = 0; i < 12; ++i) {
    ids.push_back(client_.request("POST", "/hold", {}, "a", true, trailers));
    settle();
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    // With libnghttp2, the request is not handled before its trailers are read, and refused.
    EXPECT_EQ(answer(ids[i]).reset.has_value(), i >= 9) << i;
  }
  // Another request ends, without trailers.
  const std::int32_t id = client_.request("POST", "/echo", {}, "abc");
  settle();
  EXPECT_EQ(answer(id).body, "abc");
  release();
  transport_.end();
}

}  // namespace h2server::http::h2
