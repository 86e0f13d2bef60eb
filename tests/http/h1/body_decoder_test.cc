#include "http/h1/body_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace h2server::http::h1 {
namespace body_decoder_test {

using Verdict = BodyDecoder::Verdict;

constexpr Framing chunked{.body = Framing::Body::chunked};

Framing of_length(std::uint64_t length) {
  return {.body = Framing::Body::length, .length = length};
}

// Decodes a body piece by piece, until the verdict is final.
class Reader {
 public:
  explicit Reader(const Framing& framing) : decoder_(framing) {}

  Verdict give(std::string_view bytes) {
    for (;;) {
      const std::size_t before = bytes.size();
      verdict_ = decoder_.decode(bytes);
      taken_ += before - bytes.size();
      if (verdict_ != Verdict::content) break;
      EXPECT_FALSE(decoder_.content().empty());
      content_ += decoder_.content();
    }
    EXPECT_TRUE(verdict_ != Verdict::need_more || bytes.empty());
    EXPECT_EQ(decoder_.finished(), verdict_ == Verdict::finished);
    return verdict_;
  }

  Verdict verdict() const { return verdict_; }
  const std::string& content() const { return content_; }
  std::size_t taken() const { return taken_; }

 private:
  BodyDecoder decoder_;
  Verdict verdict_ = Verdict::need_more;
  std::string content_;
  std::size_t taken_ = 0;
};

struct Row {
  const char* what;
  std::string bytes;
  Verdict verdict;
  std::string content;
};

const std::vector<Row> rows = {
    {"nothing yet", "", Verdict::need_more, ""},
    {"an empty body", "0\r\n\r\n", Verdict::finished, ""},
    {"many zeros", "00000000\r\n\r\n", Verdict::finished, ""},
    {"one chunk", "5\r\nhello\r\n0\r\n\r\n", Verdict::finished, "hello"},
    {"two chunks", "5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n", Verdict::finished, "hello, world"},
    {"digits of both cases", "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", Verdict::finished,
     "01234567890123456789"},
    {"two digits", "1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n", Verdict::finished,
     "abcdefghijklmnopqrstuvwxyz"},
    {"zeros first", "0005\r\nhello\r\n0\r\n\r\n", Verdict::finished, "hello"},
    {"content that looks like the coding", "8\r\n0\r\n\r\n0\r\n\r\n0\r\n\r\n", Verdict::finished,
     "0\r\n\r\n0\r\n"},
    {"an extension", "5;a=b\r\nhello\r\n0;c\r\n\r\n", Verdict::finished, "hello"},
    {"a quoted extension", "5;a=\"b;c\"\r\nhello\r\n0\r\n\r\n", Verdict::finished, "hello"},
    {"an extension after spaces", "5 \t;a\r\nhello\r\n0\r\n\r\n", Verdict::finished, "hello"},
    {"spaces before a name", "5; \ta\r\nhello\r\n0\r\n\r\n", Verdict::finished, "hello"},
    {"spaces around '='", "5;a \t= \tb\r\nhello\r\n0\r\n\r\n", Verdict::finished, "hello"},
    {"two extensions", "5;a;b=c\r\nhello\r\n0\r\n\r\n", Verdict::finished, "hello"},
    {"two extensions after spaces", "5;a ; b=c \t;\td\r\nhello\r\n0;e\r\n\r\n", Verdict::finished,
     "hello"},
    {"every character of a token",
     "5;!#$%&'*+-.^_`|~09azAZ=!#$%&'*+-.^_`|~09azAZ\r\nhello\r\n0\r\n\r\n", Verdict::finished,
     "hello"},
    {"an empty quoted extension", "5;a=\"\"\r\nhello\r\n0\r\n\r\n", Verdict::finished, "hello"},
    {"an extension behind a quoted one", "5;a=\"b\";c=\"d\" ;e\r\nhello\r\n0\r\n\r\n",
     Verdict::finished, "hello"},
    {"quoted pairs", "5;a=\"\\\"\\\\ \\\t\\b\"\r\nhello\r\n0\r\n\r\n", Verdict::finished, "hello"},
    {"bytes beyond ASCII in quotes", "5;a=\"\xc3\xa9\\\xff\t[;=,]\"\r\nhello\r\n0\r\n\r\n",
     Verdict::finished, "hello"},
    {"a trailer", "5\r\nhello\r\n0\r\nA: b\r\n\r\n", Verdict::finished, "hello"},
    {"two trailers", "5\r\nhello\r\n0\r\nA: b\r\nC:\r\n\r\n", Verdict::finished, "hello"},
    {"something behind", "5\r\nhello\r\n0\r\n\r\nGET / HTTP/1.1\r\n", Verdict::finished, "hello"},
    {"half a chunk", "5\r\nhel", Verdict::need_more, "hel"},
    {"no last chunk", "5\r\nhello\r\n", Verdict::need_more, "hello"},
    {"no empty line", "5\r\nhello\r\n0\r\n", Verdict::need_more, "hello"},
    {"half an empty line", "5\r\nhello\r\n0\r\n\r", Verdict::need_more, "hello"},

    {"no digit", "\r\n", Verdict::malformed, ""},
    {"a space first", " 5\r\nhello\r\n", Verdict::malformed, ""},
    {"a sign", "+5\r\nhello\r\n", Verdict::malformed, ""},
    {"a negative size", "-5\r\nhello\r\n", Verdict::malformed, ""},
    {"a prefix", "0x5\r\nhello\r\n", Verdict::malformed, ""},
    {"no hexadecimal digit", "g\r\n", Verdict::malformed, ""},
    {"an extension only", ";a\r\n", Verdict::malformed, ""},
    {"a size of 2^64", "10000000000000000\r\n", Verdict::malformed, ""},
    {"a size of 2^68 and 5", "100000000000000005\r\nhello\r\n", Verdict::malformed, ""},
    {"a bare LF after the size", "5\nhello\r\n", Verdict::malformed, ""},
    {"a bare CR after the size", "5\rhello\r\n", Verdict::malformed, ""},
    {"two CRs after the size", "5\r\r\nhello", Verdict::malformed, ""},
    {"a bare LF in an extension", "5;a\nhello\r\n", Verdict::malformed, ""},
    {"a bare CR in an extension", "5;a\rb\r\nhello\r\n", Verdict::malformed, ""},
    {"a space only", "5 \r\nhello\r\n", Verdict::malformed, ""},
    {"a tab only", "5\t\r\nhello\r\n", Verdict::malformed, ""},
    {"two sizes", "5 5\r\nhello\r\n", Verdict::malformed, ""},
    {"an extension without ';'", "5 a\r\nhello\r\n", Verdict::malformed, ""},
    {"'=' first", "5=a\r\nhello\r\n", Verdict::malformed, ""},
    {"no name", "5;\r\nhello\r\n", Verdict::malformed, ""},
    {"no name after a space", "5; \r\nhello\r\n", Verdict::malformed, ""},
    {"no name before '='", "5;=a\r\nhello\r\n", Verdict::malformed, ""},
    {"no name before another", "5;;a\r\nhello\r\n", Verdict::malformed, ""},
    {"no name behind another", "5;a;\r\nhello\r\n", Verdict::malformed, ""},
    {"a name that is no token", "5;bad[=x\r\nhello\r\n", Verdict::malformed, ""},
    {"a name in quotes", "5;\"a\"\r\nhello\r\n", Verdict::malformed, ""},
    {"a name of two words", "5;a b\r\nhello\r\n", Verdict::malformed, ""},
    {"a space behind a name", "5;a \r\nhello\r\n", Verdict::malformed, ""},
    {"no value", "5;a=\r\nhello\r\n", Verdict::malformed, ""},
    {"no value after a space", "5;a= \r\nhello\r\n", Verdict::malformed, ""},
    {"no value before another", "5;a=;b\r\nhello\r\n", Verdict::malformed, ""},
    {"a value that is no token", "5;a=b[\r\nhello\r\n", Verdict::malformed, ""},
    {"a value of two words", "5;a=b c\r\nhello\r\n", Verdict::malformed, ""},
    {"two values", "5;a=b=c\r\nhello\r\n", Verdict::malformed, ""},
    {"a list of values", "5;a=b,c\r\nhello\r\n", Verdict::malformed, ""},
    {"a space behind a value", "5;a=b \r\nhello\r\n", Verdict::malformed, ""},
    {"a space behind a quoted value", "5;a=\"b\" \r\nhello\r\n", Verdict::malformed, ""},
    {"quotes inside a value", "5;a=b\"c\"\r\nhello\r\n", Verdict::malformed, ""},
    {"something behind the quotes", "5;a=\"b\"c\r\nhello\r\n", Verdict::malformed, ""},
    {"an open quote", "5;a=\"b\r\nhello\r\n", Verdict::malformed, ""},
    {"an open quote with a line's end escaped", "5;a=\"b\\\r\nhello\r\n", Verdict::malformed, ""},
    {"a DEL in quotes", "5;a=\"\x7f\"\r\nhello\r\n", Verdict::malformed, ""},
    {"a control character escaped", "5;a=\"\\\x01\"\r\nhello\r\n", Verdict::malformed, ""},
    {"a byte beyond ASCII in a name", "5;\xc3\xa9\r\nhello\r\n", Verdict::malformed, ""},
    {"a space behind the last size", "0 \r\n\r\n", Verdict::malformed, ""},
    {"a NUL in an extension", std::string("5;\0\r\nhello\r\n", 12), Verdict::malformed, ""},
    {"more than the size", "5\r\nhelloX\r\n0\r\n\r\n", Verdict::malformed, "hello"},
    {"a bare LF after the chunk", "5\r\nhello\n0\r\n\r\n", Verdict::malformed, "hello"},
    {"a bare CR after the chunk", "5\r\nhello\r0\r\n\r\n", Verdict::malformed, "hello"},
    {"no end of line after the chunk", "5\r\nhello0\r\n\r\n", Verdict::malformed, "hello"},
    {"a bare LF at the end", "0\r\n\n", Verdict::malformed, ""},
    {"a bare CR at the end", "0\r\n\rX", Verdict::malformed, ""},
    {"a folded trailer", "0\r\nA: b\r\n c\r\n\r\n", Verdict::malformed, ""},
    {"a trailer with a bare LF", "0\r\nA: b\n\r\n", Verdict::malformed, ""},
    {"a trailer with a NUL", std::string("0\r\nA: \0\r\n\r\n", 11), Verdict::malformed, ""},
    {"a trailer without a colon", "0\r\nA\r\n\r\n", Verdict::malformed, ""},
    {"a space before a trailer's colon", "0\r\nA : b\r\n\r\n", Verdict::malformed, ""},
    {"a trailer without a name", "0\r\n: b\r\n\r\n", Verdict::malformed, ""},
};

void expect_row(const Row& row, const Reader& reader) {
  EXPECT_EQ(reader.verdict(), row.verdict);
  EXPECT_EQ(reader.content(), row.content);
  if (row.verdict != Verdict::finished) return;
  EXPECT_EQ(reader.taken(), std::min(row.bytes.find("GET"), row.bytes.size()));
}

TEST(H1BodyDecoder, DecodesChunksByteByByte) {
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    Reader reader(chunked);
    for (const char& c : row.bytes) {
      if (reader.give({&c, 1}) != Verdict::need_more) break;
    }
    expect_row(row, reader);
  }
}

TEST(H1BodyDecoder, DecodesChunksWholeAndCutAnywhere) {
  for (const Row& row : rows) {
    for (std::size_t cut = 0; cut <= row.bytes.size(); ++cut) {
      SCOPED_TRACE(std::string(row.what) + ", cut at " + std::to_string(cut));
      Reader reader(chunked);
      if (reader.give(std::string_view(row.bytes).substr(0, cut)) == Verdict::need_more) {
        reader.give(std::string_view(row.bytes).substr(cut));
      }
      expect_row(row, reader);
    }
  }
}

TEST(H1BodyDecoder, AVerdictIsFinal) {
  for (const Row& row : rows) {
    if (row.verdict == Verdict::need_more) continue;
    Reader reader(chunked);
    reader.give(row.bytes);
    const std::size_t taken = reader.taken();
    EXPECT_EQ(reader.give("0\r\n\r\n"), row.verdict) << row.what;
    EXPECT_EQ(reader.taken(), taken) << row.what;
  }
}

// Bytes that are not content, without end: `first`, then `again` repeatedly.
struct Endless {
  const char* what;
  std::string first;
  std::string again;
};

const std::vector<Endless> endless = {
    {"zeros", "0", "0"},
    {"spaces", "1 ", " "},
    {"an extension", "1;", "x"},
    {"extensions", "1", ";x"},
    {"a quoted extension", "1;a=\"", "\\\""},
    {"spaces in an extension", "1;a=", " "},
    {"a trailer", "0\r\nA:", "x"},
    {"trailers", "0\r\n", "A: b\r\n"},
    {"short trailers", "0\r\n", "a:\r\n"},
};

TEST(H1BodyDecoder, RefusesOverheadWithoutEnd) {
  for (const Endless& row : endless) {
    Reader reader(chunked);
    reader.give(row.first);
    for (int i = 0; i < 100'000 && reader.verdict() == Verdict::need_more; ++i) {
      reader.give(row.again);
    }
    EXPECT_EQ(reader.verdict(), Verdict::malformed) << row.what;
  }
}

TEST(H1BodyDecoder, TakesAsManyTrailersAsAHeadHasFields) {
  for (const int lines : {100, 101}) {
    Reader reader(chunked);
    reader.give("0\r\n");
    for (int i = 0; i < lines; ++i) reader.give("a: b\r\n");
    reader.give("\r\n");
    EXPECT_EQ(reader.verdict(), lines == 100 ? Verdict::finished : Verdict::malformed);
  }
}

TEST(H1BodyDecoder, DecodesByLengthCutAnywhere) {
  const std::string_view bytes = "0123456789GET / HTTP/1.1";
  for (std::size_t cut = 0; cut < 10; ++cut) {
    Reader reader(of_length(10));
    EXPECT_EQ(reader.give(bytes.substr(0, cut)), Verdict::need_more);
    EXPECT_EQ(reader.give(bytes.substr(cut)), Verdict::finished);
    EXPECT_EQ(reader.content(), "0123456789");
    EXPECT_EQ(reader.taken(), 10U);
  }
}

TEST(H1BodyDecoder, KnowsWhatIsLeftOfALength) {
  BodyDecoder decoder(of_length(UINT64_MAX));
  std::string_view bytes = "abc";
  EXPECT_EQ(decoder.decode(bytes), Verdict::content);
  EXPECT_EQ(decoder.content(), "abc");
  EXPECT_TRUE(bytes.empty());
  EXPECT_EQ(decoder.left(), UINT64_MAX - 3);
  EXPECT_FALSE(decoder.finished());
}

TEST(H1BodyDecoder, HasNothingToDecodeWithoutABody) {
  BodyDecoder decoder{Framing{}};
  EXPECT_TRUE(decoder.finished());
  std::string_view bytes = "GET";
  EXPECT_EQ(decoder.decode(bytes), Verdict::finished);
  EXPECT_EQ(bytes, "GET");
}

}  // namespace body_decoder_test
}  // namespace h2server::http::h1
