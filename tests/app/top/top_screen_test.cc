#include "app/top/top_screen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "app/top/top_text.h"

namespace h2server::app {
namespace top_screen_test {

TopConnection connection_of(std::string client, std::uint64_t age_s, std::uint64_t requests) {
  TopConnection connection;
  connection.client = std::move(client);
  connection.protocol = "HTTP/2";
  connection.tls = "TLSv1.3";
  connection.age_s = age_s;
  connection.requests = requests;
  connection.active = 2;
  connection.worker = 1;
  return connection;
}

TopStatus full_status() {
  TopStatus status;
  status.version = "0.2.0";
  status.scheme = "reuseport";
  status.engine = "io_uring";
  status.uptime_s = 93'784;
  status.pid = 4711;
  status.requests = 1'234'567;
  status.response_bytes = 5'000'000'000;
  status.connections = 1287;
  status.streams = 5120;
  status.errors_5xx = 3;
  status.bounds_us = {100, 1000, 10'000};
  status.history = {{10, 500, 1024, {100, 300, 100, 0}}, {11, 1000, 2048, {200, 600, 199, 1}}};
  status.sites = {{"a.example", 900, 2, 4096}, {"", 100, 0, 10}};
  status.paths = {{"/", 800}, {"/\x1b[31m\xe2\x80\xae", 100}};
  status.workers = {{1, 100, 7, 600, 0}, {2, 50, 3, 400, 1}};
  status.connection_list = {connection_of("192.0.2.1", 10, 30), connection_of("192.0.2.2", 20, 20),
                            connection_of("192.0.2.3", 30, 10)};
  status.connections_left_out = 1284;
  status.cache = {812, 1 << 20, 1 << 21, 0, 1 << 20, 999, 1};
  status.uploads = {{"a/f", 100, 200, 3}};
  status.certificates = {{"fresh", 60}, {"old", -2}, {"soon", 20}, {"now", 1}};
  status.log_lines = 10;
  status.log_dropped = 1;
  return status;
}

std::vector<TopSecond> history_of(const TopStatus& status) {
  std::vector<TopSecond> history;
  add_history(history, status);
  return history;
}

std::vector<std::string> lines_of(const TopStatus& status, const TopView& view) {
  return top_screen(status, history_of(status), view).lines;
}

// Returns the index of the first line with that text, or the number of lines.
std::size_t find(const std::vector<std::string>& lines, std::string_view text) {
  const auto at = std::ranges::find_if(
      lines, [text](const std::string& line) { return line.find(text) != line.npos; });
  return static_cast<std::size_t>(at - lines.begin());
}
bool has(const std::vector<std::string>& lines, std::string_view text) {
  return find(lines, text) < lines.size();
}

std::string without_colours(std::string_view line) {
  std::string text;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\x1b') at = line.find('m', at);
    else text += line[at];
  }
  return text;
}

// A terminal scrolls or wraps if there is one line or one character too many.
TEST(TopScreen, FillsEverySizeExactly) {
  const TopStatus status = full_status();
  for (const std::size_t columns : {40u, 57u, 80u, 99u, 100u, 101u, 250u}) {
    for (const std::size_t rows : {2u, 3u, 6u, 10u, 24u, 49u, 50u, 100u}) {
      for (const std::string_view trouble : {"", "it is gone"}) {
        const TopView view{.columns = columns, .rows = rows, .colour = true, .trouble = trouble};
        const auto lines = lines_of(status, view);
        EXPECT_EQ(lines.size(), rows) << columns << " × " << rows;
        for (const std::string& line : lines) {
          EXPECT_EQ(columns_of(without_colours(line)), columns) << columns << " × " << rows << line;
        }
      }
    }
  }
}

TEST(TopScreen, ShowsAllFacts) {
  const auto lines = lines_of(full_status(), {.columns = 120, .rows = 0});
  for (const std::string_view text : {"h2server 0.2.0",
                                      "up 1 d 2 h",
                                      "reuseport",
                                      "io_uring",
                                      "process 4711",
                                      "live",
                                      "now 1,000/s",
                                      "median 1 ms",
                                      "90 % 10 ms",
                                      "99 % 10 ms",
                                      "sent 2.0 KiB/s",
                                      "connections 1,287",
                                      "streams 5,120",
                                      "requests 1,234,567",
                                      "5xx 3",
                                      "100 µs",
                                      "more",
                                      "a.example",
                                      "(any other host)",
                                      "812 files, 1.0 MiB of 2.0 MiB",
                                      "99.9 %",
                                      "100 B of 200 B",
                                      "expired",
                                      "1 day left, renew now",
                                      "20 days left, soon",
                                      "60 days left",
                                      "10 lines, 1 dropped",
                                      "Connections 1 to 3 of 1,287",
                                      "HTTP/2 TLSv1.3"}) {
    EXPECT_TRUE(has(lines, text)) << text;
  }
  EXPECT_LT(find(lines, "expired"), find(lines, "60 days left")) << "the most urgent first";
  EXPECT_FALSE(has(lines, "q ends"));
}

TEST(TopScreen, MissingValues) {
  const auto lines = top_screen({}, {}, {.columns = 120, .rows = 0}).lines;
  EXPECT_TRUE(has(lines, "up -"));
  EXPECT_TRUE(has(lines, "now -/s"));
  EXPECT_TRUE(has(lines, "median -"));
  EXPECT_TRUE(has(lines, "connections -"));
}

TEST(TopScreen, NoColourUnlessAskedFor) {
  for (const std::string& line : lines_of(full_status(), {.columns = 120, .rows = 60})) {
    EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
  }
  EXPECT_TRUE(
      has(lines_of(full_status(), {.columns = 120, .rows = 60, .colour = true}), "\x1b[1m"));
}

// Whatever clients send: no control character, and nothing that is not ours but ASCII.
TEST(TopScreen, HostileTexts) {
  const std::string hostile = "\x1b]0;owned\x07\r\n\xe2\x80\xae\xff";
  TopStatus status = full_status();
  status.version = status.scheme = status.engine = hostile;
  status.paths[0].path = status.sites[0].name = hostile;
  status.uploads[0].path = status.certificates[0].names = hostile;
  TopConnection& connection = status.connection_list[0];
  connection.client = connection.protocol = connection.tls = hostile;
  const TopView view{.columns = 200, .rows = 60, .trouble = hostile};
  for (const TopView& each : {view, TopView{.columns = 200, .rows = 0}}) {
    for (const std::string& line : lines_of(status, each)) {
      EXPECT_EQ(columns_of(line), 200u);
      EXPECT_EQ(line.find("\xe2\x80\xae"), std::string::npos);
      EXPECT_TRUE(std::ranges::none_of(line, [](char c) {
        return (c >= 0 && c < ' ') || c == '\x7f' || c == '\xff';
      })) << line;
    }
  }
}

TEST(TopScreen, SortsConnections) {
  TopStatus status = full_status();
  status.connection_list[0].tls = "TLSv1.2";
  status.connection_list[1].upload_bytes = 9;
  status.connection_list[1].active = 5;
  status.connection_list[2].worker = 0;
  struct Row {
    ConnectionOrder order;
    std::string_view first;
  };
  const std::vector<Row> rows = {
      {ConnectionOrder::age, "192.0.2.3"},    {ConnectionOrder::requests, "192.0.2.1"},
      {ConnectionOrder::active, "192.0.2.2"}, {ConnectionOrder::upload, "192.0.2.2"},
      {ConnectionOrder::client, "192.0.2.1"}, {ConnectionOrder::protocol, "192.0.2.1"},
      {ConnectionOrder::worker, "192.0.2.3"},
  };
  ConnectionOrder order = ConnectionOrder::age;
  for (const Row& row : rows) {
    EXPECT_EQ(row.order, order);
    const auto lines = lines_of(status, {.columns = 140, .rows = 60, .order = order});
    EXPECT_TRUE(lines[find(lines, "Connections 1") + 2].starts_with(row.first))
        << name_of(row.order);
    EXPECT_TRUE(lines.back().find("sorts by " + std::string(name_of(order))) != std::string::npos);
    order = next(order);
  }
  EXPECT_EQ(order, ConnectionOrder::age);
}

TEST(TopScreen, ScrollsConnections) {
  TopStatus status = full_status();
  for (unsigned i = 3; i < 100; ++i) {
    status.connection_list.push_back(connection_of("client" + std::to_string(i), 0, 0));
  }
  TopView view{.columns = 120, .rows = 40, .order = ConnectionOrder::age, .first_connection = 1};
  const TopScreen second = top_screen(status, {}, view);
  EXPECT_EQ(second.first_connection, 1u);
  EXPECT_GE(second.connections_on_page, 4u);
  EXPECT_FALSE(has(second.lines, "192.0.2.3 "));
  EXPECT_TRUE(has(second.lines, "192.0.2.2 "));
  view.first_connection = 1000;
  const TopScreen last = top_screen(status, {}, view);
  EXPECT_EQ(last.first_connection + last.connections_on_page, 100u);
  EXPECT_TRUE(has(last.lines, "client99 "));
}

TEST(TopScreen, SaysWhatIsWrong) {
  const auto lines = lines_of(full_status(), {.columns = 80, .trouble = "Connection refused"});
  EXPECT_TRUE(lines.front().ends_with("no connection"));
  EXPECT_TRUE(lines.back().starts_with("Connection refused"));
  EXPECT_FALSE(has(lines, "live"));
}

TEST(TopScreen, LongListsAreCut) {
  TopStatus status = full_status();
  for (unsigned i = 0; i < 30; ++i) status.paths.push_back({"/p" + std::to_string(i), i});
  const auto lines = lines_of(status, {.columns = 120, .rows = 0});
  EXPECT_TRUE(has(lines, "and 25 more"));
  EXPECT_TRUE(has(lines, "/p4"));
  EXPECT_FALSE(has(lines, "/p5"));
}

}  // namespace top_screen_test
}  // namespace h2server::app
