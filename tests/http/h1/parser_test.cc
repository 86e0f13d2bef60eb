#include "http/h1/parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace h2server::http::h1 {
namespace parser_test {

using Verdict = Parser::Verdict;
using Body = Framing::Body;

struct Outcome {
  Verdict verdict = Verdict::need_more;
  int status = 0;
  std::size_t head_size = 0;
  Framing framing;
  RequestHead head;
  std::size_t given = 0;  // bytes that the parser had when it decided
};

// Parses `bytes` in steps of `step`, each time at a new address, like a growing buffer. The head's
// views point into `kept`.
Outcome parse(const std::string& bytes, std::string& kept, std::size_t step,
              const Limits& limits = {}) {
  Parser parser(limits);
  Outcome outcome;
  while (outcome.verdict == Verdict::need_more && outcome.given < bytes.size()) {
    outcome.given = std::min(bytes.size(), outcome.given + step);
    std::string fresh(bytes, 0, outcome.given);
    kept.swap(fresh);
    outcome.verdict = parser.parse(kept);
  }
  outcome.status = parser.status();
  outcome.head_size = parser.head_size();
  outcome.framing = parser.framing();
  if (outcome.verdict == Verdict::complete) parser.fill(kept, outcome.head);
  return outcome;
}

std::string fields_of(const RequestHead& head) {
  std::string text;
  for (const Field& field : head.fields) {
    text.append(field.name).append("=").append(field.value).append(";");
  }
  return text;
}

// --- valid requests ---------------------------------------------------------------------------

struct Good {
  const char* what;
  std::string bytes;
  Method method = GET;
  std::string target = "/";
  Version version = Version::http_1_1;
  std::string authority = "a";
  std::string fields = "Host=a;";
  Body body = Body::none;
  std::uint64_t length = 0;
  bool keep_alive = true;
  bool expects_continue = false;
};

const std::string beyond_ascii = "caf\xc3\xa9 \xff";

std::vector<Good> lines() {
  return {
      {.what = "the smallest", .bytes = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
      {.what = "an empty Host",
       .bytes = "GET / HTTP/1.1\r\nHost:\r\n\r\n",
       .authority = "",
       .fields = "Host=;"},
      {.what = "a Host with a port",
       .bytes = "GET /a?b=c HTTP/1.1\r\nhOST:\t [::1]:8080 \t\r\n\r\n",
       .target = "/a?b=c",
       .authority = "[::1]:8080",
       .fields = "hOST=[::1]:8080;"},
      {.what = "a Host with an empty port",
       .bytes = "GET / HTTP/1.1\r\nHost: a:\r\n\r\n",
       .authority = "a:",
       .fields = "Host=a:;"},
      {.what = "an empty line first", .bytes = "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"},
      {.what = "fields in their order",
       .bytes = "HEAD /x HTTP/1.1\r\nB: 2\r\nHost: a\r\nA: 1\r\nB:3\r\nC:\r\n\r\n",
       .method = HEAD,
       .target = "/x",
       .fields = "B=2;Host=a;A=1;B=3;C=;"},
      {.what = "bytes beyond ASCII and tabs in a value",
       .bytes = "GET / HTTP/1.1\r\nHost: a\r\nX: " + beyond_ascii + "\ty\r\n\r\n",
       .fields = "Host=a;X=" + beyond_ascii + "\ty;"},
      {.what = "every character of a token",
       .bytes = "GET / HTTP/1.1\r\nHost: a\r\n!#$%&'*+-.^_`|~09azAZ: v\r\n\r\n",
       .fields = "Host=a;!#$%&'*+-.^_`|~09azAZ=v;"},
      {.what = "a colon in a value",
       .bytes = "GET / HTTP/1.1\r\nHost: a\r\nX: a:b: c\r\n\r\n",
       .fields = "Host=a;X=a:b: c;"},
      {.what = "the absolute form",
       .bytes = "GET http://b/c HTTP/1.1\r\nHost: a\r\n\r\n",
       .target = "http://b/c"},
      {.what = "the asterisk form",
       .bytes = "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
       .method = OPTIONS,
       .target = "*"},
      {.what = "a method that nobody knows",
       .bytes = "BREW / HTTP/1.1\r\nHost: a\r\n\r\n",
       .method = Method::unknown},
      {.what = "a method of WebDAV",
       .bytes = "PROPPATCH /a HTTP/1.1\r\nHost: a\r\n\r\n",
       .method = PROPPATCH,
       .target = "/a"},
      {.what = "a long method",
       .bytes = std::string(7000, 'M') + " / HTTP/1.1\r\nHost: a\r\n\r\n",
       .method = Method::unknown},
      {.what = "methods are case-sensitive",
       .bytes = "get / HTTP/1.1\r\nHost: a\r\n\r\n",
       .method = Method::unknown},
      {.what = "a higher minor version", .bytes = "GET / HTTP/1.2\r\nHost: a\r\n\r\n"},
  };
}

std::vector<Good> connections() {
  return {
      {.what = "HTTP/1.0 without Host",
       .bytes = "GET / HTTP/1.0\r\n\r\n",
       .version = Version::http_1_0,
       .authority = "",
       .fields = "",
       .keep_alive = false},
      {.what = "HTTP/1.0 that stays",
       .bytes = "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
       .version = Version::http_1_0,
       .authority = "",
       .fields = "Connection=Keep-Alive;"},
      {.what = "HTTP/1.0 that says both",
       .bytes = "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
       .version = Version::http_1_0,
       .authority = "",
       .fields = "Connection=keep-alive, close;",
       .keep_alive = false},
      {.what = "close",
       .bytes = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
       .fields = "Host=a;Connection=close;",
       .keep_alive = false},
      {.what = "close in a list",
       .bytes = "GET / HTTP/1.1\r\nHost: a\r\nConnection: ,x ,\tCLOSE\t, y\r\n\r\n",
       .fields = "Host=a;Connection=,x ,\tCLOSE\t, y;",
       .keep_alive = false},
      {.what = "close in a second line",
       .bytes = "GET / HTTP/1.1\r\nHost: a\r\nConnection: x\r\nConnection: close\r\n\r\n",
       .fields = "Host=a;Connection=x;Connection=close;",
       .keep_alive = false},
      {.what = "closed is not close",
       .bytes = "GET / HTTP/1.1\r\nHost: a\r\nConnection: closed\r\n\r\n",
       .fields = "Host=a;Connection=closed;"},
  };
}

std::vector<Good> bodies() {
  return {
      {.what = "a length",
       .bytes = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n",
       .method = POST,
       .fields = "Host=a;Content-Length=5;",
       .body = Body::length,
       .length = 5},
      {.what = "a length of nothing",
       .bytes = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 000\r\n\r\n",
       .method = PUT,
       .fields = "Host=a;Content-Length=000;"},
      {.what = "the largest length",
       .bytes = "POST / HTTP/1.1\r\nHost: a\r\ncontent-length: 18446744073709551615\r\n\r\n",
       .method = POST,
       .fields = "Host=a;content-length=18446744073709551615;",
       .body = Body::length,
       .length = UINT64_MAX},
      {.what = "chunked",
       .bytes = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n",
       .method = POST,
       .fields = "Host=a;Transfer-Encoding=Chunked;",
       .body = Body::chunked},
      {.what = "chunked among empty members",
       .bytes = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ,\t, chunked ,\r\n\r\n",
       .method = POST,
       .fields = "Host=a;Transfer-Encoding=,\t, chunked ,;",
       .body = Body::chunked},
      {.what = "chunked among empty lines",
       .bytes = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\nTransfer-Encoding: "
                "chunked\r\nTransfer-Encoding: ,\r\n\r\n",
       .method = POST,
       .fields = "Host=a;Transfer-Encoding=;Transfer-Encoding=chunked;Transfer-Encoding=,;",
       .body = Body::chunked},
      {.what = "an expectation",
       .bytes = "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n",
       .method = PUT,
       .fields = "Host=a;Expect=100-Continue;Content-Length=1;",
       .body = Body::length,
       .length = 1,
       .expects_continue = true},
      {.what = "an expectation in a list",
       .bytes = "PUT / HTTP/1.1\r\nHost: a\r\nExpect: ,100-continue, 100-continue\r\n"
                "Content-Length: 1\r\n\r\n",
       .method = PUT,
       .fields = "Host=a;Expect=,100-continue, 100-continue;Content-Length=1;",
       .body = Body::length,
       .length = 1,
       .expects_continue = true},
      {.what = "an expectation without a body",
       .bytes = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n",
       .method = POST,
       .fields = "Host=a;Expect=100-continue;"},
      {.what = "an expectation in HTTP/1.0",
       .bytes = "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
       .method = POST,
       .version = Version::http_1_0,
       .authority = "",
       .fields = "Expect=100-continue;Content-Length=1;",
       .body = Body::length,
       .length = 1,
       .keep_alive = false},
  };
}

std::vector<Good> good() {
  std::vector<Good> all = lines();
  for (Good& row : connections()) all.push_back(std::move(row));
  for (Good& row : bodies()) all.push_back(std::move(row));
  return all;
}

void expect_good(const Good& row, const Outcome& outcome) {
  ASSERT_EQ(outcome.verdict, Verdict::complete) << outcome.status;
  EXPECT_EQ(outcome.head_size, row.bytes.size());
  EXPECT_EQ(outcome.head.method, row.method);
  EXPECT_EQ(outcome.head.target, row.target);
  EXPECT_EQ(outcome.head.version, row.version);
  EXPECT_EQ(outcome.head.authority, row.authority);
  EXPECT_EQ(fields_of(outcome.head), row.fields);
  EXPECT_EQ(outcome.framing.body, row.body);
  EXPECT_EQ(outcome.framing.length, row.length);
  EXPECT_EQ(outcome.framing.keep_alive, row.keep_alive);
  EXPECT_EQ(outcome.framing.expects_continue, row.expects_continue);
  EXPECT_EQ(outcome.head.content_length.has_value(), row.body != Body::chunked);
  EXPECT_EQ(outcome.head.content_length.value_or(0), row.length);
}

TEST(H1Parser, UnderstandsHeadsHoweverTheyArrive) {
  for (const Good& row : good()) {
    for (const std::size_t step : {row.bytes.size(), std::size_t{1}, std::size_t{5}}) {
      SCOPED_TRACE(std::string(row.what) + " in steps of " + std::to_string(step));
      std::string kept;
      const Outcome outcome = parse(row.bytes, kept, step);
      EXPECT_EQ(outcome.given, row.bytes.size());
      expect_good(row, outcome);
    }
  }
}

TEST(H1Parser, LeavesWhatFollowsTheHead) {
  const Limits limits;
  for (const Good& row : good()) {
    Parser parser(limits);
    const std::string more = row.bytes + "\r\n\r\nGET /next HTTP/1.1\r\n";
    EXPECT_EQ(parser.parse(more), Verdict::complete) << row.what;
    EXPECT_EQ(parser.head_size(), row.bytes.size()) << row.what;
  }
}

TEST(H1Parser, CanBeUsedAgain) {
  const Limits limits;
  Parser parser(limits);
  for (const Good& row : good()) {
    SCOPED_TRACE(row.what);
    ASSERT_EQ(parser.parse(row.bytes), Verdict::complete);
    Outcome outcome;
    outcome.verdict = Verdict::complete;
    outcome.head_size = parser.head_size();
    outcome.framing = parser.framing();
    parser.fill(row.bytes, outcome.head);
    expect_good(row, outcome);
    parser.reset();
    ASSERT_EQ(parser.parse("BAD\r\n"), Verdict::malformed);
    EXPECT_EQ(parser.status(), 400);
    parser.reset();
  }
}

// --- refused requests -------------------------------------------------------------------------

struct Bad {
  const char* what;
  std::string bytes;
  int status = 400;
};

std::string with_fields(const std::string& fields) {
  return "POST / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}

const std::vector<Bad> bad_request_lines = {
    {"HTTP/0.9", "GET /\r\n"},
    {"only a method", "GET\r\n\r\n"},
    {"no method", " / HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"no target", "GET  HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"two spaces", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"a space at the end", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"},
    {"a space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"a tab instead of a space", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"a method that is no token", "G(T / HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"a NUL in the target", std::string("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", 28)},
    {"a byte beyond ASCII in the target", "GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"a DEL in the target", "GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"no version", "GET / \r\nHost: a\r\n\r\n"},
    {"a version in lower case", "GET / http/1.1\r\nHost: a\r\n\r\n"},
    {"a short version", "GET / HTTP/1\r\nHost: a\r\n\r\n"},
    {"a long version", "GET / HTTP/1.10\r\nHost: a\r\n\r\n"},
    {"a version with a sign", "GET / HTTP/+.1\r\nHost: a\r\n\r\n"},
    {"another protocol", "GET / HTCP/1.1\r\nHost: a\r\n\r\n"},
    {"another protocol's method, too", "EHLO a SMTP\r\n", 0},
    {"another method", "BREW / HTTP/one\r\nHost: a\r\n\r\n"},
    {"version 0.9", "GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505},
    {"version 2.0", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
    {"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
    {"a handshake of TLS", std::string("\x16\x03\x01\x02\0\x01\n", 7)},
    {"two empty lines first", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"a bare LF after the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n"},
    {"a bare LF first", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"a bare CR in the request line", "GET /\rHTTP/1.1\r\nHost: a\r\n\r\n"},
};

const std::vector<Bad> bad_fields = {
    {"a bare LF after a field", "GET / HTTP/1.1\r\nHost: a\n\r\n"},
    {"a bare LF at the end", "GET / HTTP/1.1\r\nHost: a\r\n\n"},
    {"a bare CR in a value", with_fields("X: a\rb\r\n")},
    {"two CRs before the LF", with_fields("X: a\r\r\n")},
    {"a bare CR at a line's begin", with_fields("\rX: a\r\n")},
    {"a folded line", with_fields("X: a\r\n b\r\n")},
    {"a line folded by a tab", with_fields("X: a\r\n\tb\r\n")},
    {"a space before the first field", "GET / HTTP/1.1\r\n Host: a\r\n\r\n"},
    {"a space before the colon", with_fields("X : a\r\n")},
    {"a tab before the colon", with_fields("X\t: a\r\n")},
    {"no colon", with_fields("X\r\n")},
    {"no name", with_fields(": a\r\n")},
    {"a name that is no token", with_fields("X(y: a\r\n")},
    {"a byte beyond ASCII in a name", with_fields("X\xc3\xa9: a\r\n")},
    {"a NUL in a name", with_fields(std::string("X\0: a\r\n", 7))},
    {"a NUL in a value", with_fields(std::string("X: a\0b\r\n", 8))},
    {"a DEL in a value", with_fields("X: a\x7f\r\n")},
    {"a control character in a value", with_fields("X: a\x01\r\n")},
    {"no Host", "GET / HTTP/1.1\r\n\r\n"},
    {"two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"},
    {"two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"},
    {"a Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"},
    {"a Host with user information", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"},
    {"a Host with two ports", "GET / HTTP/1.1\r\nHost: a:1:2\r\n\r\n"},
    {"a Host with a port beyond 65535", "GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n"},
    {"a Host that is a port only", "GET / HTTP/1.1\r\nHost: :80\r\n\r\n"},
    {"a Host with an open bracket", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"},
    {"a Host with a wrong escape", "GET / HTTP/1.0\r\nHost: a%zz\r\n\r\n"},
    {"a wrong Host beside the absolute form", "GET http://a/ HTTP/1.1\r\nHost: :1\r\n\r\n"},
    {"a Host with a space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"},
    {"another expectation in a list", with_fields("Expect: 100-continue, x\r\n"), 417},
    {"another expectation", with_fields("Expect: the-worst\r\n"), 417},
};

const std::vector<Bad> bad_framing = {
    {"two lengths", with_fields("Content-Length: 1\r\nContent-Length: 2\r\n")},
    {"two lengths that agree", with_fields("Content-Length: 1\r\nContent-Length: 1\r\n")},
    {"a list of lengths", with_fields("Content-Length: 1, 1\r\n")},
    {"an empty length", with_fields("Content-Length:\r\n")},
    {"a positive length", with_fields("Content-Length: +1\r\n")},
    {"a negative length", with_fields("Content-Length: -1\r\n")},
    {"a hexadecimal length", with_fields("Content-Length: 0x1\r\n")},
    {"a length with a fraction", with_fields("Content-Length: 1.0\r\n")},
    {"a length with a space", with_fields("Content-Length: 1 1\r\n")},
    {"a length of 2^64", with_fields("Content-Length: 18446744073709551616\r\n")},
    {"a length of many digits", with_fields("Content-Length: " + std::string(40, '9') + "\r\n")},
    {"a length and a coding", with_fields("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n")},
    {"a coding and a length", with_fields("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n")},
    {"two codings", with_fields("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")},
    {"a coding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"},
    {"another coding", with_fields("Transfer-Encoding: gzip\r\n"), 501},
    {"a list of codings", with_fields("Transfer-Encoding: gzip, chunked\r\n"), 501},
    {"the identity", with_fields("Transfer-Encoding: identity\r\n"), 501},
    {"almost chunked", with_fields("Transfer-Encoding: xchunked\r\n"), 501},
    {"gzip and a length", with_fields("Transfer-Encoding: gzip\r\nContent-Length: 1\r\n")},
    {"codings in two lines",
     with_fields("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"), 501},
    {"a coding with a parameter", with_fields("Transfer-Encoding: x;a=b, chunked\r\n"), 501},
    {"chunked twice in a line", with_fields("Transfer-Encoding: chunked, chunked\r\n")},
    {"chunked before another", with_fields("Transfer-Encoding: chunked, gzip\r\n")},
    {"chunked before another line",
     with_fields("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n")},
    {"chunked between others", with_fields("Transfer-Encoding: gzip, chunked, br\r\n")},
    {"chunked with a parameter", with_fields("Transfer-Encoding: chunked;a=b\r\n")},
    {"chunked with an empty parameter", with_fields("Transfer-Encoding: chunked ;\r\n")},
    {"a parameter without a coding", with_fields("Transfer-Encoding: ;a, chunked\r\n")},
    {"an empty list of codings", with_fields("Transfer-Encoding: ,\r\n")},
    {"no coding", with_fields("Transfer-Encoding:\r\n")},
    {"two words", with_fields("Transfer-Encoding: gzip chunked\r\n")},
    {"a quoted coding", with_fields("Transfer-Encoding: \"chunked\"\r\n")},
    {"a vertical tab before chunked", with_fields("Transfer-Encoding: \vchunked\r\n")},
};

void expect_refused(const std::vector<Bad>& rows) {
  for (const Bad& row : rows) {
    for (const std::size_t step : {row.bytes.size(), std::size_t{1}}) {
      std::string kept;
      const Outcome outcome = parse(row.bytes, kept, step);
      EXPECT_EQ(outcome.verdict, Verdict::malformed) << row.what << " in steps of " << step;
      EXPECT_EQ(outcome.status, row.status) << row.what << " in steps of " << step;
    }
  }
}

TEST(H1Parser, RefusesRequestLines) { expect_refused(bad_request_lines); }
TEST(H1Parser, RefusesFields) { expect_refused(bad_fields); }
TEST(H1Parser, RefusesFraming) { expect_refused(bad_framing); }

// --- limits -----------------------------------------------------------------------------------

struct Sized {
  const char* what;
  std::string bytes;
  int status;  // 0: complete
};

// For limits of 40 bytes for the request line without its LF, 100 bytes for the head without its
// last LF, and 3 fields.
const std::vector<Sized> sized = {
    {"a line that fits", "GET /" + std::string(25, 'x') + " HTTP/1.0\r\n\r\n", 0},
    {"a line that does not", "GET /" + std::string(26, 'x') + " HTTP/1.0\r\n\r\n", 414},
    {"a line without an end", "GET /" + std::string(100, 'x'), 414},
    {"a method without an end", std::string(100, 'x'), 501},
    {"a method that is too long", std::string(50, 'x') + " / HTTP/1.1\r\n\r\n", 501},
    {"a head that fits", "GET / HTTP/1.0\r\nA: " + std::string(78, 'x') + "\r\n\r\n", 0},
    {"a head that does not", "GET / HTTP/1.0\r\nA: " + std::string(79, 'x') + "\r\n\r\n", 431},
    {"a head without an end", "GET / HTTP/1.0\r\nA: " + std::string(200, 'x'), 431},
    {"three fields", "GET / HTTP/1.0\r\nA:\r\nB:\r\nC:\r\n\r\n", 0},
    {"four fields", "GET / HTTP/1.0\r\nA:\r\nB:\r\nC:\r\nD:\r\n\r\n", 431},
};

TEST(H1Parser, KeepsItsLimits) {
  const Limits limits{.request_line_bytes_max = 40, .head_bytes_max = 100, .fields_max = 3};
  for (const Sized& row : sized) {
    for (const std::size_t step : {row.bytes.size(), std::size_t{1}, std::size_t{7}}) {
      SCOPED_TRACE(std::string(row.what) + " in steps of " + std::to_string(step));
      std::string kept;
      const Outcome outcome = parse(row.bytes, kept, step, limits);
      EXPECT_EQ(outcome.verdict, row.status == 0 ? Verdict::complete : Verdict::malformed);
      EXPECT_EQ(outcome.status, row.status);
      EXPECT_LE(outcome.given, std::max<std::size_t>(step, 101 + 7));  // does not wait for more
    }
  }
}

TEST(H1Parser, TakesTheLongestTargetThatItsLimitsPromise) {
  std::string kept;
  const std::string target = "/" + std::string(7999, 'x');  // RFC 9112, 3
  const std::string bytes = "GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n";
  const Outcome outcome = parse(bytes, kept, bytes.size());
  ASSERT_EQ(outcome.verdict, Verdict::complete);
  EXPECT_EQ(outcome.head.target, target);
}

}  // namespace parser_test
}  // namespace h2server::http::h1
