#include "observe/access_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text/utf8.h"
#include "observe/connection_members.h"

namespace h2server::observe {
namespace access_line_test {

constexpr std::int64_t begun_unix_us = 1'795'544'571'000'042;  // 2026-11-24 18:22:51

std::string line_of(const AccessRecord& record, LineOptions options) {
  LineFormatter formatter(options);
  std::vector<char> room(LineFormatter::bytes_max(record));  // the address sanitizer checks it
  const std::size_t size = formatter.write(record, room.data());
  return {room.data(), size};
}
std::string text_of(const AccessRecord& record, bool queries = true) {
  return line_of(record, {LineFormat::text, queries});
}
std::string json_of(const AccessRecord& record, bool queries = true) {
  return line_of(record, {LineFormat::json, queries});
}

struct Exchange {
  ConnectionMembers members;
  AccessRecord record;

  explicit Exchange(LineFormat format)
      : members(ConnectionMembers::make(format, {"192.0.2.7", 51234, "1.3", "x25519"})) {
    record.begun_unix_us = begun_unix_us;
    record.duration_us = 1234;
    record.first_byte_us = 57;
    record.status = 200;
    record.response_bytes = 158;
    record.version = 20;
    record.encrypted = true;
    record.method = "GET";
    record.target = "/x";
    record.connection = members.text();
  }
};

TEST(AccessLine, TextOfAPlainRequest) {
  const Exchange exchange(LineFormat::text);
  EXPECT_EQ(text_of(exchange.record),
            "192.0.2.7 - - [24/Nov/2026:18:22:51 +0000] \"GET /x HTTP/2.0\" 200 158 \"-\" \"-\"\n");
}

TEST(AccessLine, TextWithAllThereIs) {
  Exchange exchange(LineFormat::text);
  AccessRecord& record = exchange.record;
  record.user = "a b\"";
  record.target = "/\"\n?q=1";
  record.referer = "https://u:secret@example.org/a b?q=2";
  record.user_agent = "curl/8 \\ \xc3\xbc";
  record.forwarded_client = "2001:db8::1";
  record.cut_off = CutOff::client_left;
  record.version = 11;
  EXPECT_EQ(text_of(record),
            "2001:db8::1 - a\\x20b\\x22 [24/Nov/2026:18:22:51 +0000] "
            "\"GET /\\x22\\x0a?q=1 HTTP/1.1\" 200 158 \"https://example.org/a b?q=2\" "
            "\"curl/8 \\x5c \\xc3\\xbc\"\n");
  EXPECT_EQ(text_of(record, false),
            "2001:db8::1 - a\\x20b\\x22 [24/Nov/2026:18:22:51 +0000] "
            "\"GET /\\x22\\x0a HTTP/1.1\" 200 158 \"https://example.org/a b\" "
            "\"curl/8 \\x5c \\xc3\\xbc\"\n");
}

TEST(AccessLine, TextWithNothing) {
  const AccessRecord record;
  EXPECT_EQ(text_of(record), "- - - [01/Jan/1970:00:00:00 +0000] \"-\" 000 0 \"-\" \"-\"\n");
}

TEST(AccessLine, JsonOfAPlainRequest) {
  const Exchange exchange(LineFormat::json);
  EXPECT_EQ(
      json_of(exchange.record),
      "{\"timestamp\":\"2026-11-24T18:22:51.000042Z\",\"http.request.method\":\"GET\","
      "\"url.path\":\"/x\",\"url.scheme\":\"https\",\"network.protocol.version\":\"2\","
      "\"http.response.status_code\":200,\"http.response.body.size\":158,"
      "\"tls.protocol.version\":\"1.3\",\"tls.curve\":\"x25519\",\"client.address\":\"192.0.2.7\","
      "\"client.port\":51234,\"h2server.time_to_first_byte\":0.000057,"
      "\"http.server.request.duration\":0.001234}\n");
}

TEST(AccessLine, JsonWithAllThereIs) {
  Exchange exchange(LineFormat::json);
  AccessRecord& record = exchange.record;
  record.version = 10;
  record.encrypted = false;
  record.request_bytes = 7;
  record.stream = 3;
  record.cut_off = CutOff::deadline;
  record.method = "POST";
  record.target = "/\"?q=\xff";
  record.authority = "example.org:8443";
  record.user = "anna";
  record.referer = "https://u:secret@example.org/?r";
  record.user_agent = "curl/8";
  record.trace_id = "0af7651916cd43dd8448eb211c80319c";
  record.route = "/{name}";
  record.site = "shop";
  record.forwarded_client = "2001:db8::1";
  EXPECT_EQ(json_of(record),
            "{\"timestamp\":\"2026-11-24T18:22:51.000042Z\",\"http.request.method\":\"POST\","
            "\"url.path\":\"/\\\"\",\"url.query\":\"q=\xef\xbf\xbd\",\"url.scheme\":\"http\","
            "\"network.protocol.version\":\"1.0\",\"http.response.status_code\":200,"
            "\"http.response.body.size\":158,\"http.request.body.size\":7,"
            "\"client.address\":\"2001:db8::1\",\"network.peer.address\":\"192.0.2.7\","
            "\"network.peer.port\":51234,\"tls.protocol.version\":\"1.3\","
            "\"tls.curve\":\"x25519\","
            "\"server.address\":\"example.org\",\"server.port\":8443,\"h2server.site\":\"shop\","
            "\"user_agent.original\":\"curl/8\","
            "\"http.request.header.referer\":\"https://example.org/?r\","
            "\"http.route\":\"/{name}\",\"enduser.id\":\"anna\","
            "\"trace_id\":\"0af7651916cd43dd8448eb211c80319c\",\"h2server.stream_id\":3,"
            "\"error.type\":\"deadline\",\"h2server.time_to_first_byte\":0.000057,"
            "\"http.server.request.duration\":0.001234}\n");
  const std::string quiet = json_of(record, false);
  EXPECT_EQ(quiet.find("url.query"), quiet.npos);
  EXPECT_EQ(quiet.find("?r"), quiet.npos);
}

TEST(AccessLine, JsonWithNothing) {
  AccessRecord record;
  record.first_byte_us = -1;
  EXPECT_EQ(json_of(record),
            "{\"timestamp\":\"1970-01-01T00:00:00.000000Z\",\"url.scheme\":\"http\","
            "\"network.protocol.version\":\"1.1\",\"http.response.body.size\":0,"
            "\"http.server.request.duration\":0.000000}\n");
}

TEST(AccessLine, EachReasonHasItsName) {
  std::vector<std::string_view> names;
  for (int reason = 1; reason <= static_cast<int>(CutOff::refused); ++reason) {
    AccessRecord record;
    record.cut_off = static_cast<CutOff>(reason);
    names.push_back(name_of(record.cut_off));
    ASSERT_FALSE(names.back().empty());
    EXPECT_NE(json_of(record).find("\"error.type\":\"" + std::string(names.back()) + "\""),
              std::string::npos);
  }
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  EXPECT_EQ(name_of(CutOff::none), "");
}

TEST(AccessLine, OneFormatterGoesThroughTheSeconds) {
  LineFormatter formatter({LineFormat::text, true});
  AccessRecord record;
  std::vector<char> room(LineFormatter::bytes_max(record));
  const auto moment_at = [&](std::int64_t unix_us) {
    record.begun_unix_us = unix_us;
    return std::string(room.data(), formatter.write(record, room.data())).substr(6, 28);
  };
  EXPECT_EQ(moment_at(0), "[01/Jan/1970:00:00:00 +0000]");
  EXPECT_EQ(moment_at(999'999), "[01/Jan/1970:00:00:00 +0000]");
  EXPECT_EQ(moment_at(1'000'000), "[01/Jan/1970:00:00:01 +0000]");
  EXPECT_EQ(moment_at(0), "[01/Jan/1970:00:00:00 +0000]");
  EXPECT_EQ(moment_at(951'782'399'000'000), "[28/Feb/2000:23:59:59 +0000]");
  EXPECT_EQ(moment_at(951'782'400'000'000), "[29/Feb/2000:00:00:00 +0000]");
  EXPECT_EQ(moment_at(-5), "[01/Jan/1970:00:00:00 +0000]");
  EXPECT_EQ(moment_at(INT64_MAX), "[31/Dec/9999:23:59:59 +0000]");
}

TEST(AccessLine, OneFormatterGoesFromSiteToSite) {
  LineFormatter formatter({LineFormat::json, true});
  const auto names_in_line = [&](std::string_view authority, std::string_view site) {
    AccessRecord record;
    record.authority = authority;
    record.site = site;
    std::vector<char> room(LineFormatter::bytes_max(record));
    const std::string line(room.data(), formatter.write(record, room.data()));
    const std::size_t begin = line.find("size\":0,") + 8;
    return line.substr(begin, line.find("\"h2server.time_to") - begin);
  };
  const std::string a = "\"server.address\":\"a\",";
  EXPECT_EQ(names_in_line("a", ""), a);
  EXPECT_EQ(names_in_line("a", "s"), a + "\"h2server.site\":\"s\",");
  EXPECT_EQ(names_in_line("a", "t"), a + "\"h2server.site\":\"t\",");
  EXPECT_EQ(names_in_line("a:1", "t"), a + "\"server.port\":1,\"h2server.site\":\"t\",");
  EXPECT_EQ(names_in_line("", ""), "");
  EXPECT_EQ(names_in_line("a", ""), a);
}

TEST(AccessLine, TextsAreLimited) {
  Exchange exchange(LineFormat::json);
  const std::string text(10'000, 'x');
  const std::string target = "/" + text + "?" + text;
  AccessRecord& record = exchange.record;
  record.target = target;
  record.method = record.authority = record.user = record.referer = record.user_agent =
      record.trace_id = record.route = record.site = record.forwarded_client = text;
  const std::string line = json_of(record);
  const auto limited = [](std::string_view name, std::size_t size) {
    return "\"" + std::string(name) + "\":\"" + std::string(size, 'x') + "…\"";
  };
  for (const std::string& member : {
           limited("http.request.method", LineLimits::method),
           limited("url.query", LineLimits::target),
           limited("server.address", LineLimits::authority),
           limited("enduser.id", LineLimits::user),
           limited("http.request.header.referer", LineLimits::referer),
           limited("user_agent.original", LineLimits::user_agent),
           limited("trace_id", LineLimits::trace_id),
           limited("http.route", LineLimits::route),
           limited("h2server.site", LineLimits::site),
           limited("client.address", LineLimits::address),
       }) {
    EXPECT_NE(line.find(member), line.npos) << member;
  }
  EXPECT_NE(line.find("\"url.path\":\"/" + std::string(LineLimits::target - 1, 'x') + "…\""),
            line.npos);
  const std::string text_line = text_of(record);
  EXPECT_NE(text_line.find(" /" + std::string(LineLimits::target - 1, 'x') + "... HTTP/2.0\" "),
            text_line.npos);
}

// A secret in front of what is left out of a URL, and a long one.
TEST(AccessLine, NoUserInformationOfAnyUrl) {
  Exchange exchange(LineFormat::json);
  AccessRecord& record = exchange.record;
  const std::string url = "http://user:" + std::string(600, 's') + "@example.org/x";
  record.target = url;
  record.referer = url;
  record.authority = "user:sss@example.org";
  for (const std::string& line : {json_of(record), text_of(record)}) {
    EXPECT_EQ(line.find("user:"), line.npos) << line;
    EXPECT_EQ(line.find("sss"), line.npos) << line;
    EXPECT_NE(line.find("http://example.org/x\""), line.npos) << line;
  }
}

int spaces_outside_quotes(std::string_view line) {
  bool inside = false;
  int spaces = 0;
  for (const char c : line) {
    inside ^= c == '"';
    spaces += c == ' ' && !inside;
  }
  return spaces;
}

// Whatever bytes a peer sends, a line is one line, and JSON is JSON that says the same.
TEST(AccessLine, HostileBytes) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    for (const std::string& hostile : {bytes.substr(0, size), bytes.substr(256 - size)}) {
      AccessRecord record;
      record.method = record.target = record.authority = record.user = record.referer =
          record.user_agent = record.trace_id = record.route = record.site =
              record.forwarded_client = hostile;
      const auto members =
          ConnectionMembers::make(LineFormat::json, {hostile, 1, hostile, "secp256r1"});
      record.connection = members.text();
      for (const std::string& line : {json_of(record), text_of(record)}) {
        ASSERT_EQ(std::ranges::count(line, '\n'), 1);
        ASSERT_EQ(line.back(), '\n');
        ASSERT_EQ(std::ranges::count_if(line, [](char c) { return c >= 0 && c < ' '; }), 1);
        ASSERT_EQ(base::to_valid_utf8(line), line);
      }
      const std::string text = text_of(record);
      ASSERT_EQ(std::ranges::count(text, '"'), 6) << text;
      ASSERT_EQ(spaces_outside_quotes(text), 9) << text;
    }
  }
}

// A worker writes lines of different sizes into one buffer: none writes before its beginning.
TEST(AccessLine, ALineDependsOnNothingBefore) {
  LineFormatter formatter({LineFormat::json, true});
  Exchange exchange(LineFormat::json);
  const std::string alone = json_of(exchange.record);
  AccessRecord other;
  std::vector<char> room(LineFormatter::bytes_max(exchange.record) + 4096);
  std::size_t at = formatter.write(other, room.data());
  const std::string first(room.data(), at);
  const std::size_t size = formatter.write(exchange.record, room.data() + at);
  EXPECT_EQ(std::string(room.data(), at), first);
  EXPECT_EQ(std::string(room.data() + at, size), alone);
}

TEST(ConnectionMembers, WithoutAddressOrTls) {
  const auto of = [](LineFormat format, std::string_view address, std::uint16_t port,
                     std::string_view tls) {
    const ConnectionMembers members = ConnectionMembers::make(format, {address, port, tls, {}});
    const ConnectionText text = members.text();
    return std::string(text.client) + "|" + std::string(text.members) + "|" +
           std::string(text.peer_members);
  };
  EXPECT_EQ(of(LineFormat::text, "", 0, ""), "||");
  EXPECT_EQ(of(LineFormat::text, "::1", 80, "1.3"), "::1||");
  EXPECT_EQ(of(LineFormat::text, "a b", 80, "1.3"), "a\\x20b||");
  EXPECT_EQ(of(LineFormat::json, "", 0, ""), "||");
  EXPECT_EQ(of(LineFormat::json, "", 0, "1.2"),
            "|\"tls.protocol.version\":\"1.2\",|\"tls.protocol.version\":\"1.2\",");
  EXPECT_EQ(of(LineFormat::json, "::1", 80, ""),
            "::1|\"client.address\":\"::1\",\"client.port\":80,|"
            "\"network.peer.address\":\"::1\",\"network.peer.port\":80,");
}

TEST(ConnectionMembers, MoveWithTheirConnection) {
  ConnectionMembers first = ConnectionMembers::make(LineFormat::json, {"::1", 80, "1.3", "x25519"});
  const std::string before(first.text().members);
  const ConnectionMembers second = std::move(first);
  EXPECT_EQ(second.text().members, before);
  EXPECT_EQ(second.text().client, "::1");
}

}  // namespace access_line_test
}  // namespace h2server::observe
