#include "observe/otlp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace h2server::observe {
namespace otlp_test {

using namespace std::string_literals;
using namespace std::string_view_literals;

std::string with_length(std::string_view tag, std::string_view content) {
  EXPECT_LT(content.size(), 0x80u * 0x80);
  std::string bytes(tag);
  if (content.size() >= 0x80) bytes += static_cast<char>(0x80 | (content.size() & 0x7f));
  bytes += static_cast<char>(content.size() < 0x80 ? content.size() : content.size() >> 7);
  return bytes.append(content);
}

// An ExportTraceServiceRequest with these bytes of a Span, and those of a Resource.
std::string request_of(std::string_view span, std::string_view resource = {}) {
  const std::string scope = with_length("\x0a", with_length("\x0a", "h2server"));
  const std::string spans = scope + with_length("\x12", span);
  return with_length("\x0a", with_length("\x0a", resource) + with_length("\x12", spans));
}

std::string bytes_of(const Span& span) { return encode_export({&span, 1}, {}); }

constexpr auto server_kind = "\x30\x02"sv;
constexpr auto flags_of_root = "\x85\x01\x01\x01\x00\x00"sv;
constexpr auto flags_of_child = "\x85\x01\x01\x03\x00\x00"sv;

TEST(Otlp, NoSpans) {
  const std::string scope = with_length("\x0a", with_length("\x0a", "h2server"));
  EXPECT_EQ(encode_export({}, {}),
            with_length("\x0a", with_length("\x0a", "") + with_length("\x12", scope)));
}

// Each row changes one member of an empty span; its bytes are the fields that it adds.
TEST(Otlp, SpanFields) {
  struct Row {
    std::string_view name;
    Span span;
    std::string fields;  // with the kind
    std::string_view flags = flags_of_root;
  };
  const std::string kind(server_kind);
  const std::vector<Row> rows = {
      {"empty", {}, kind},
      {"name", {.name = "GET /"}, "\x2a\x05GET /" + kind},
      {"not UTF-8",
       {.name = "a\xff"},
       "\x2a\x04"
       "a\xef\xbf\xbd" +
           kind},
      {"trace state",
       {.trace_state = "a=b"},
       "\x1a\x03"
       "a=b" +
           kind},
      {"parent",
       {.parent_span_id = {1, 2, 3, 4, 5, 6, 7, 8}},
       "\x22\x08\x01\x02\x03\x04\x05\x06\x07\x08" + kind,
       flags_of_child},
      {"times",
       {.start_unix_ns = 1, .end_unix_ns = 0x1122334455667788},
       kind + "\x39\x01\0\0\0\0\0\0\0"s + "\x41\x88\x77\x66\x55\x44\x33\x22\x11"},
      {"text", {.attributes = {{"k", "v"}}}, kind + "\x4a\x08\x0a\x01k\x12\x03\x0a\x01v"},
      {"empty text", {.attributes = {{"k", ""}}}, kind + "\x4a\x07\x0a\x01k\x12\x02\x0a\x00"s},
      {"number", {.attributes = {{"k", 300}}}, kind + "\x4a\x08\x0a\x01k\x12\x03\x18\xac\x02"},
      {"zero", {.attributes = {{"k", 0}}}, kind + "\x4a\x07\x0a\x01k\x12\x02\x18\x00"s},
      {"negative number",
       {.attributes = {{"k", -1}}},
       kind + "\x4a\x10\x0a\x01k\x12\x0b\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
      {"failed", {.failed = true}, kind + "\x7a\x02\x18\x02"},
      {"why", {.failed = true, .failure = "slow"}, kind + "\x7a\x08\x12\x04slow\x18\x02"},
  };
  for (const Row& row : rows) {
    Span span = row.span;
    span.trace_id = {0xa0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    span.span_id = {0xb0, 1, 2, 3, 4, 5, 6, 7};
    const std::string ids =
        "\x0a\x10\xa0\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
        "\x12\x08\xb0\x01\x02\x03\x04\x05\x06\x07";
    EXPECT_EQ(bytes_of(span), request_of(ids + row.fields + std::string(row.flags))) << row.name;
  }
}

TEST(Otlp, ResourceAndLongTexts) {
  Span span;
  span.name = std::string(300, 'n');
  const std::string fields =
      "\x2a\xac\x02" + span.name + std::string(server_kind) + std::string(flags_of_root);
  const std::vector<Attribute> resource = {{"service.name", "h2server"}};
  EXPECT_EQ(
      encode_export({&span, 1}, resource),
      request_of("\x0a\x10"s + std::string(16, '\0') + "\x12\x08" + std::string(8, '\0') + fields,
                 "\x0a\x1a\x0a\x0cservice.name\x12\x0a\x0a\x08h2server"));
}

TEST(Otlp, Ids) {
  EXPECT_EQ(span_id_of("00f067aa0ba902b7"), (SpanId{0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 2, 0xb7}));
  EXPECT_EQ(trace_id_of("4bf92f3577b34da6a3ce929d0e0e4736").front(), 0x4b);
  EXPECT_EQ(trace_id_of("4bf92f3577b34da6a3ce929d0e0e4736").back(), 0x36);
  for (const std::string_view digits :
       {"", "00f067aa0ba902b", "00f067aa0ba902b70", "00f067aa0ba902bg"}) {
    EXPECT_EQ(span_id_of(digits), SpanId{}) << digits;
    EXPECT_EQ(trace_id_of(digits), TraceId{}) << digits;
  }
}

// ---- spans of requests

AccessRecord record_of_get() {
  AccessRecord record;
  record.begun_unix_us = 1'790'000'000'000'001;
  record.duration_us = 250;
  record.status = 200;
  record.method = "GET";
  record.target = "/items/7?token=secret";
  record.authority = "a.example:8443";
  record.route = "/items/{id}";
  record.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  record.connection.client = "192.0.2.1";
  return record;
}

std::optional<Attribute> find(const Span& span, std::string_view name) {
  const auto at = std::ranges::find(span.attributes, name, &Attribute::name);
  return at == span.attributes.end() ? std::nullopt : std::optional(*at);
}

Span described(const AccessRecord& record, bool queries = true) {
  Span span;
  describe(span, record, queries);
  return span;
}

TEST(Otlp, DescribesARequest) {
  AccessRecord record = record_of_get();
  record.version = 20;
  record.encrypted = true;
  record.response_bytes = 1234;
  record.request_bytes = 5;
  record.user_agent = "curl/8";
  record.site = "a";
  record.forwarded_client = "198.51.100.7";
  const Span span = described(record);
  EXPECT_EQ(span.name, "GET /items/{id}");
  EXPECT_EQ(span.trace_id, trace_id_of(record.trace_id));
  EXPECT_EQ(span.start_unix_ns, 1'790'000'000'000'001'000u);
  EXPECT_EQ(span.end_unix_ns, 1'790'000'000'000'251'000u);
  EXPECT_FALSE(span.failed);
  const std::vector<Attribute> expected = {
      {"http.request.method", "GET"},
      {"url.scheme", "https"},
      {"url.path", "/items/7"},
      {"url.query", "token=secret"},
      {"http.route", "/items/{id}"},
      {"server.address", "a.example"},
      {"server.port", 8443},
      {"client.address", "198.51.100.7"},
      {"network.peer.address", "192.0.2.1"},
      {"network.protocol.version", "2"},
      {"user_agent.original", "curl/8"},
      {"http.request.body.size", 5},
      {"h2server.site", "a"},
      {"http.response.status_code", 200},
      {"http.response.body.size", 1234},
  };
  EXPECT_EQ(span.attributes, expected);
}

TEST(Otlp, LeavesOutQueriesAndWhatIsMissing) {
  AccessRecord record = record_of_get();
  record.route = {};
  record.authority = {};
  record.version = 10;
  const Span span = described(record, false);
  EXPECT_EQ(span.name, "GET");
  for (const std::string_view name :
       {"url.query", "http.route", "server.address", "server.port", "user_agent.original",
        "http.request.body.size", "http.response.body.size", "h2server.site", "error.type"}) {
    EXPECT_FALSE(find(span, name)) << name;
  }
  EXPECT_EQ(find(span, "client.address"), (Attribute{"client.address", "192.0.2.1"}));
  EXPECT_EQ(find(span, "network.protocol.version"), (Attribute{"network.protocol.version", "1.0"}));
}

TEST(Otlp, UnknownMethodsMakeNoNames) {
  AccessRecord record = record_of_get();
  record.method = "BREW";
  const Span span = described(record);
  EXPECT_EQ(span.name, "HTTP /items/{id}");
  EXPECT_EQ(find(span, "http.request.method"), (Attribute{"http.request.method", "_OTHER"}));
  EXPECT_EQ(find(span, "http.request.method_original"),
            (Attribute{"http.request.method_original", "BREW"}));
}

TEST(Otlp, Failures) {
  struct Row {
    int status;
    CutOff cut_off;
    bool failed;
    std::string_view failure;
    std::string error_type;
  };
  const std::vector<Row> rows = {
      {200, CutOff::none, false, "", ""},
      {404, CutOff::none, false, "", ""},
      {499, CutOff::none, false, "", ""},
      {500, CutOff::none, true, "", "500"},
      {503, CutOff::none, true, "", "503"},
      {0, CutOff::none, true, "no_response", "no_response"},
      {200, CutOff::client_left, true, "client_left", "client_left"},
      {500, CutOff::failed, true, "failed", "failed"},
  };
  for (const Row& row : rows) {
    AccessRecord record = record_of_get();
    record.status = row.status;
    record.cut_off = row.cut_off;
    const Span span = described(record);
    EXPECT_EQ(span.failed, row.failed) << row.status;
    EXPECT_EQ(span.failure, row.failure) << row.status;
    const auto type = find(span, "error.type");
    EXPECT_EQ(type ? std::get<std::string>(type->value) : "", row.error_type) << row.status;
    EXPECT_EQ(find(span, "http.response.status_code").has_value(), row.status != 0);
  }
}

// What a client sends must not fill the memory of the queue.
TEST(Otlp, ShortensTexts) {
  AccessRecord record = record_of_get();
  const std::string target = "/" + std::string(100'000, 'x');
  record.target = target;
  record.user_agent = target;
  const Span span = described(record);
  EXPECT_EQ(std::get<std::string>(find(span, "url.path")->value), target.substr(0, 1024));
  EXPECT_EQ(std::get<std::string>(find(span, "user_agent.original")->value).size(), 1024u);
}

}  // namespace otlp_test
}  // namespace h2server::observe
