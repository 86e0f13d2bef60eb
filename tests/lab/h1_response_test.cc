#include "load/h1_response.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace h2server::lab::load {
namespace h1_response_test {

using Verdict = H1Response::Verdict;

struct Row {
  const char* what;
  std::string bytes;
  Verdict verdict;
  int status = 200;  // this and the following only if complete
  std::uint64_t body_bytes = 0;
  bool keeps_connection = true;
  std::size_t left = 0;  // bytes after the response
  bool to_head = false;
};

const std::string ok = "HTTP/1.1 200 OK\r\n";
const Verdict whole = Verdict::complete;
const Verdict part = Verdict::need_more;
const Verdict bad = Verdict::malformed;

const std::vector<Row> rows = {
    {"an empty body", ok + "Content-Length: 0\r\n\r\n", whole},
    {"a body", ok + "Content-Length: 5\r\n\r\nhello", whole, 200, 5},
    {"names of any case", ok + "cOnTeNt-lEnGtH:5\r\n\r\nhello", whole, 200, 5},
    {"no reason", "HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n", whole, 404},
    {"something behind", ok + "Content-Length: 5\r\n\r\nhello!!", whole, 200, 5, true, 2},
    {"the next response", ok + "Content-Length: 0\r\n\r\n" + ok, whole, 200, 0, true, 17},
    {"chunks", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n2;a=b\r\n, \r\n0\r\n\r\n",
     whole, 200, 7},
    {"chunks with a trailer", ok + "Transfer-Encoding: Chunked\r\n\r\n1\r\na\r\n0\r\nA: b\r\n\r\n",
     whole, 200, 1},
    {"chunks and more", ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nxyz", whole, 200, 0, true,
     3},
    {"close", ok + "Connection: close\r\nContent-Length: 2\r\n\r\nab", whole, 200, 2, false},
    {"close among others", ok + "Connection: x, Close\r\nContent-Length: 2\r\n\r\nab", whole, 200,
     2, false},
    {"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", whole, 200, 2, false},
    {"HTTP/1.0 that stays",
     "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n", whole, 200, 0, true},
    {"no content", "HTTP/1.1 204 No Content\r\n\r\n", whole, 204},
    {"not modified", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", whole, 304},
    {"to HEAD", ok + "Content-Length: 5\r\n\r\n", whole, 200, 0, true, 0, true},
    {"to HEAD, chunked", ok + "Transfer-Encoding: chunked\r\n\r\n", whole, 200, 0, true, 0, true},
    {"an interim response", "HTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 1\r\n\r\na",
     whole, 200, 1},
    {"two interim responses",
     "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok +
         "Content-Length: 1\r\n\r\na",
     whole, 200, 1},
    {"an empty value", ok + "A:\r\nContent-Length: 0\r\n\r\n", whole},
    {"obsolete text in a value", ok + "A: \xe4\r\nContent-Length: 0\r\n\r\n", whole},

    {"nothing", "", part},
    {"half a head", ok + "Content-Len", part},
    {"half a body", ok + "Content-Length: 5\r\n\r\nhel", part},
    {"half a chunk", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhel", part},
    {"no last chunk", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", part},
    {"a body up to the end", ok + "\r\nhello", part},
    {"an interim response alone", "HTTP/1.1 100 Continue\r\n\r\n", part},

    {"no HTTP", "SSH-2.0-OpenSSH\r\n\r\n", bad},
    {"HTTP/2", "HTTP/2.0 200 OK\r\n\r\n", bad},
    {"a short status", "HTTP/1.1 20 OK\r\n\r\n", bad},
    {"a long status", "HTTP/1.1 2000 OK\r\n\r\n", bad},
    {"a status of another class", "HTTP/1.1 600 OK\r\n\r\n", bad},
    {"no space after the status", "HTTP/1.1 200\r\n\r\n", bad},
    {"a lone LF", "HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n", bad},
    {"no colon", ok + "Content-Length\r\n\r\n", bad},
    {"a space before the colon", ok + "Content-Length : 0\r\n\r\n", bad},
    {"a folded line", ok + "A: b\r\n c\r\n\r\n", bad},
    {"NUL in a value", ok + std::string("A: \0\r\n\r\n", 8), bad},
    {"a length that is none", ok + "Content-Length: 5a\r\n\r\n", bad},
    {"a negative length", ok + "Content-Length: -5\r\n\r\n", bad},
    {"a length too large", ok + "Content-Length: 18446744073709551616\r\n\r\n", bad},
    {"two lengths", ok + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", bad},
    {"length and chunks", ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", bad},
    {"another coding", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n", bad},
    {"chunked twice", ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", bad},
    {"a chunk's size that is none", ok + "Transfer-Encoding: chunked\r\n\r\nx\r\n", bad},
    {"a chunk longer than told", ok + "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", bad},
    {"another protocol", "HTTP/1.1 101 Switching Protocols\r\n\r\n", bad},
    {"a head without end", ok + "A: " + std::string(70'000, 'a'), bad},
};

// Delivers `bytes` in steps. Returns the final verdict; `left` is the number of unconsumed bytes.
Verdict give(H1Response& response, std::string_view bytes, std::size_t step, std::size_t& left) {
  Verdict verdict = Verdict::need_more;
  while (!bytes.empty() && verdict == Verdict::need_more) {
    std::string_view piece = bytes.substr(0, step);
    const std::size_t before = piece.size();
    verdict = response.receive(piece);
    EXPECT_TRUE(verdict != Verdict::need_more || piece.empty());
    bytes.remove_prefix(before - piece.size());
  }
  left = bytes.size();
  return verdict;
}

TEST(H1Response, ReadsWholeAndByteByByte) {
  for (const Row& row : rows) {
    for (const std::size_t step : {std::size_t{1} << 30, std::size_t{1}, std::size_t{7}}) {
      SCOPED_TRACE(std::string(row.what) + ", by " + std::to_string(step));
      H1Response response;
      response.reset(row.to_head);
      std::size_t left = 0;
      ASSERT_EQ(give(response, row.bytes, step, left), row.verdict);
      if (row.verdict != Verdict::complete) continue;
      EXPECT_EQ(response.status(), row.status);
      EXPECT_EQ(response.body_bytes(), row.body_bytes);
      EXPECT_EQ(response.keeps_connection(), row.keeps_connection);
      EXPECT_EQ(left, row.left);
    }
  }
}

TEST(H1Response, EndsWithTheConnection) {
  struct End {
    const char* what;
    std::string bytes;
    Verdict verdict;
    bool begun;
  };
  for (const End& end :
       {End{"nothing", "", bad, false}, End{"half a status line", "HTT", bad, true},
        End{"half a body", ok + "Content-Length: 5\r\n\r\nhel", bad, true},
        End{"a body up to the end", ok + "\r\nhello", whole, true},
        End{"an empty one", ok + "\r\n", whole, true},
        End{"chunks without the last", ok + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n", bad,
            true}}) {
    SCOPED_TRACE(end.what);
    H1Response response;
    response.reset(false);
    std::size_t left = 0;
    EXPECT_EQ(give(response, end.bytes, 3, left), Verdict::need_more);
    EXPECT_EQ(response.begun(), end.begun);
    EXPECT_EQ(response.end(), end.verdict);
    EXPECT_FALSE(end.verdict == Verdict::complete && response.keeps_connection());
  }
}

TEST(H1Response, IsUsedAgain) {
  H1Response response;
  std::string_view bytes = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
  response.reset(false);
  ASSERT_EQ(response.receive(bytes), Verdict::complete);
  response.reset(false);
  EXPECT_FALSE(response.begun());
  bytes = "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc";
  ASSERT_EQ(response.receive(bytes), Verdict::complete);
  EXPECT_EQ(response.status(), 404);
  EXPECT_EQ(response.body_bytes(), 3U);
}

}  // namespace h1_response_test
}  // namespace h2server::lab::load
