// Feeds the fuzzing corpora of other servers to the parsers and sessions: no input may break an
// invariant.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "http/fields/syntax.h"
#include "http/fields/target.h"
#include "http/h1/body_decoder.h"
#include "http/h1/parser.h"
#include "http/h2/session_host.h"

namespace h2server::http {
namespace corpus_test {

std::vector<std::string> files_of(const std::string& folder) {
  const char* const elsewhere = std::getenv("H2SERVER_CORPORA");
  const std::filesystem::path path =
      (elsewhere != nullptr ? std::filesystem::path(elsewhere)
                            : std::filesystem::path(H2SERVER_SOURCE_DIR) / "../shared/corpora") /
      folder;
  std::vector<std::string> contents;
  if (!std::filesystem::is_directory(path)) return contents;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    std::ifstream file(entry.path(), std::ios::binary);
    contents.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return contents;
}

// --- HTTP/1.1 ---------------------------------------------------------------------------------

// Parses `bytes` like a connection, `step` bytes at a time. Returns the requests, their content and
// the error as text.
std::string interpret(const std::string& bytes, std::size_t step) {
  const Limits limits;
  h1::Parser parser(limits);
  std::string log;
  std::size_t begin = 0;
  while (begin < bytes.size()) {
    parser.reset();
    auto verdict = h1::Parser::Verdict::need_more;
    std::string given;
    while (verdict == h1::Parser::Verdict::need_more && begin + given.size() < bytes.size()) {
      given = bytes.substr(begin, given.size() + step);
      verdict = parser.parse(given);
    }
    if (verdict != h1::Parser::Verdict::complete) {
      return log + (verdict == h1::Parser::Verdict::malformed ? std::to_string(parser.status())
                                                              : "need more");
    }
    RequestHead head;
    parser.fill(given, head);
    EXPECT_LE(parser.head_size(), given.size());
    EXPECT_LE(head.fields.size(), limits.fields_max);
    EXPECT_TRUE(is_token(head.method_name));
    for (const Field& field : head.fields) {
      EXPECT_TRUE(is_token(field.name));
      EXPECT_TRUE(std::ranges::all_of(field.value, is_field_value_character));
    }
    base::Arena arena;
    const std::optional<Target> target = parse_target(head.target, arena);
    EXPECT_TRUE(!target || target->path == "*" || target->path.starts_with('/'));
    log.append(head.method_name).append(" ").append(target ? target->path : "bad") += ";";
    begin += parser.head_size();
    h1::BodyDecoder decoder(parser.framing());
    auto body = h1::BodyDecoder::Verdict::need_more;
    std::size_t end = begin;
    while (body == h1::BodyDecoder::Verdict::need_more && (end < bytes.size() || end == begin)) {
      end = std::min(bytes.size(), end + step);
      std::string_view piece = std::string_view(bytes).substr(begin, end - begin);
      do {
        body = decoder.decode(piece);
        if (body == h1::BodyDecoder::Verdict::content) log += decoder.content();
      } while (body == h1::BodyDecoder::Verdict::content);
      begin = end - piece.size();
      end = std::max(end, begin);
      if (end == bytes.size()) break;
    }
    if (body != h1::BodyDecoder::Verdict::finished) return log + "unfinished";
  }
  return log;
}

TEST(Corpus, Http1IsUnderstoodAlikeHoweverItArrives) {
  const std::vector<std::string> files = files_of("fuzz-http1");
  if (files.empty()) GTEST_SKIP() << "no ../shared/corpora/fuzz-http1";
  for (const std::string& bytes : files) {
    const std::string whole = interpret(bytes, std::max<std::size_t>(bytes.size(), 1));
    ASSERT_EQ(interpret(bytes, 1), whole) << testing::PrintToString(bytes);
    ASSERT_EQ(interpret(bytes, 13), whole) << testing::PrintToString(bytes);
  }
}

// --- HTTP/2 -----------------------------------------------------------------------------------

// A server that answers each request at once.
class Server {
 public:
  explicit Server(Http2Implementation implementation) : host_(implementation) {}

  bool receive(std::string_view bytes) {
    host_.receive(bytes);
    for (h2::H2Exchange* const exchange : std::set(host_.alive)) {
      EXPECT_LE(exchange->head.fields.size(), host_.limits.fields_max);
      if (answered_.insert(exchange->id).second)
        host_.respond(exchange->id, Response(200, "hello"));
    }
    host_.take();
    return !host_.over();
  }
  const std::string& log() const { return host_.log; }

 private:
  h2::SessionHost host_;
  std::set<std::uint32_t> answered_;
};

class H2Corpus : public testing::TestWithParam<Http2Implementation> {};

INSTANTIATE_TEST_SUITE_P(, H2Corpus,
                         testing::Values(Http2Implementation::native, Http2Implementation::nghttp2),
                         h2::name_of_parameter);

TEST_P(H2Corpus, BreaksNoInvariantHoweverItArrives) {
  const std::vector<std::string> files = files_of("fuzz-http2");
  if (files.empty()) GTEST_SKIP() << "no ../shared/corpora/fuzz-http2";
  std::size_t requests = 0;
  for (const std::string& bytes : files) {
    for (const std::size_t step : {bytes.size(), std::size_t{1}, std::size_t{50}}) {
      Server server(GetParam());
      for (std::string_view rest = bytes; !rest.empty();) {
        const std::string piece(rest.substr(0, step));  // own buffer: shows overreads
        rest.remove_prefix(piece.size());
        if (!server.receive(piece)) break;
      }
      requests += server.log().empty() ? 0 : 1;
    }
  }
  EXPECT_GT(requests, 0U);  // some inputs get past the preface
}

}  // namespace corpus_test
}  // namespace h2server::http
