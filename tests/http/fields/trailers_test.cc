// Tests trailer fields: HTTP/1.1 and HTTP/2 give a handler the same fields, and send the same ones
// from a source.
#include "http/fields/trailers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "http/h1/body_decoder.h"
#include "http/h1/response_encoder.h"
#include "http/h2/frames.h"
#include "http/h2/session_host.h"

namespace h2server::http {
namespace trailers_test {

using Lines = std::vector<std::pair<std::string, std::string>>;

struct Row {
  Lines lines;
  std::string seen;  // "name=value;"
};

const std::vector<Row> rows = {
    {{{"sum", "1"}}, "sum=1;"},
    {{{"x", "y"}, {"x", ""}, {"grpc-status", "0"}}, "x=y;x=;grpc-status=0;"},
    {{{"x", "a  b\tc: \xc3\xa9"}}, "x=a  b\tc: \xc3\xa9;"},
    {{{"content-length", "3"}, {"x", "y"}}, "x=y;"},
    {{{"trailer", "x"}, {"x", "y"}, {"content-type", "a/b"}}, "x=y;"},
    {{{"authorization", "a"}, {"cookie", "b"}, {"x", "y"}, {"host", "a"}}, "x=y;"},
    {{{"if-match", "*"}, {"range", "bytes=0-1"}, {"cache-control", "no-store"}}, ""},
    {{{"www-authenticate", "a"}, {"age", "1"}, {"agf", "2"}, {"www-authenticatf", "b"}},
     "agf=2;www-authenticatf=b;"},
    {{{"content-digest", "sha-256=:x:"}, {"etag", "\"a\""}},
     "content-digest=sha-256=:x:;etag=\"a\";"},
};

std::string text_of(auto&& fields) {
  std::string text;
  for (const Field& field : fields) {
    text.append(field.name).append("=").append(field.value).append(";");
  }
  return text;
}

std::string in_upper_case(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return text;
}

TEST(Trailers, OfAChunkedRequest) {
  for (const Row& row : rows) {
    std::string bytes = "3;a=b\r\nabc\r\n0\r\n";
    for (const auto& [name, value] : row.lines) {
      bytes += in_upper_case(name) + ": \t" + value + " \r\n";
    }
    bytes += "\r\n";
    for (const std::size_t step : {bytes.size(), std::size_t{1}}) {
      SCOPED_TRACE(testing::PrintToString(bytes) + " in steps of " + std::to_string(step));
      base::Arena arena;
      h1::TrailerSection trailers(arena);
      h1::BodyDecoder decoder({.body = h1::Framing::Body::chunked}, &trailers);
      auto verdict = h1::BodyDecoder::Verdict::need_more;
      for (std::size_t at = 0; at < bytes.size(); at += step) {
        std::string piece = bytes.substr(at, step);  // at a new address each time
        std::string_view rest = piece;
        do {
          verdict = decoder.decode(rest);
        } while (verdict == h1::BodyDecoder::Verdict::content);
      }
      EXPECT_EQ(verdict, h1::BodyDecoder::Verdict::finished);
      EXPECT_EQ(text_of(trailers.fields()), row.seen);
      trailers.clear();
      EXPECT_EQ(trailers.fields().size(), 0U);
    }
  }
}

TEST(Trailers, OfARequestOfHttp2) {
  for (const Http2Implementation implementation :
       {Http2Implementation::native, Http2Implementation::nghttp2}) {
    for (const Row& row : rows) {
      SCOPED_TRACE(row.seen);
      h2::SessionHost host(implementation);
      ASSERT_TRUE(host.receive(h2::opening() + h2::post(1)));
      ASSERT_TRUE(host.receive(h2::headers(1, h2::block(row.lines))));
      ASSERT_TRUE(host.has(1));
      EXPECT_EQ(text_of(host.exchange(1).session.trailers), row.seen);
    }
  }
}

// A section beyond the limits must not reach the handler as if it were complete.
TEST(Trailers, BeyondTheLimitsEndTheRequest) {
  struct Limited {
    Lines lines;
    bool good;
  };
  const Limits limits{.head_bytes_max = 200, .fields_max = 5};
  const Limited all[] = {
      {{{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}}, true},
      {{{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}, {"e", "5"}, {"f", "6"}}, false},
      {{{"a", std::string(150, 'x')}}, true},
      {{{"a", std::string(200, 'x')}}, false},
  };
  for (const Http2Implementation implementation :
       {Http2Implementation::native, Http2Implementation::nghttp2}) {
    for (const Limited& row : all) {
      h2::SessionHost host(implementation, limits);
      ASSERT_TRUE(host.receive(h2::opening() + h2::post(1)));
      ASSERT_TRUE(host.receive(h2::headers(1, h2::block(row.lines))));
      EXPECT_EQ(host.log.find("ended") != std::string::npos, row.good) << host.log;
      // libnghttp2 closes the stream when it has sent its reset.
      if (implementation == Http2Implementation::nghttp2) continue;
      EXPECT_EQ(host.log.find("closed") == std::string::npos, row.good) << host.log;
    }
  }
  base::Arena arena;
  for (const std::size_t lines : {4U, 5U, 6U}) {
    h1::TrailerSection trailers(arena);
    h1::BodyDecoder decoder({.body = h1::Framing::Body::chunked}, &trailers, limits.fields_max);
    std::string bytes = "0\r\n";
    for (std::size_t i = 0; i < lines; ++i) bytes += "a: b\r\n";
    bytes += "\r\n";
    std::string_view rest = bytes;
    EXPECT_EQ(decoder.decode(rest), lines <= 5 ? h1::BodyDecoder::Verdict::finished
                                               : h1::BodyDecoder::Verdict::malformed);
  }
}

// Checks which of a source's trailer fields are sent, and in what form. session_test.cc covers the
// frames of HTTP/2.
TEST(Trailers, OfAResponse) {
  std::vector<Row> given = rows;
  given.push_back({{{"Sum", " 1\t"}, {"X-Y", ""}}, "sum=1;x-y=;"});
  given.push_back({{{"a b", "c"}, {"", "c"}, {"x", "a\r\nb: c"}, {"y", std::string("\0", 1)}}, ""});
  given.push_back({{{"Content-Length", "1"}, {"TRANSFER-ENCODING", "x"}, {"Upgrade", "y"}}, ""});
  given.push_back({{{":status", "200"}, {"Keep-Alive", "1"}, {"content-range", "x"}}, ""});
  given.push_back({{}, ""});
  for (const Row& row : given) {
    std::vector<Field> source;
    for (const auto& [name, value] : row.lines) source.push_back({name, value});
    base::Arena arena;
    std::vector<Field> sent;
    trailer_fields(source, arena, sent);
    EXPECT_EQ(text_of(sent), row.seen);
    base::BufferChain out;
    h1::encode_last_chunk(out, source, arena);
    std::string bytes;
    for (; !out.empty(); out.consume(out.front().size())) bytes += out.front();
    std::string expected = "0\r\n";
    for (const Field& field : sent) {
      expected.append(field.name).append(": ").append(field.value).append("\r\n");
    }
    EXPECT_EQ(bytes, expected + "\r\n");
  }
}

}  // namespace trailers_test
}  // namespace h2server::http
