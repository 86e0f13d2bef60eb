// Bytes that a fuzzer found interesting in other servers: none of them breaks an invariant here.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "http/h1/body_decoder.h"
#include "http/h1/parser.h"
#include "http/h2/nghttp2_session.h"
#include "http/syntax.h"
#include "http/target.h"

namespace h2server::http {
namespace {

std::vector<std::string> files_of(const std::string& folder) {
  const std::filesystem::path path =
      std::filesystem::path(H2SERVER_SOURCE_DIR) / "../shared/corpora" / folder;
  std::vector<std::string> contents;
  if (!std::filesystem::is_directory(path)) return contents;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    std::ifstream file(entry.path(), std::ios::binary);
    contents.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return contents;
}

// --- HTTP/1.1 ---------------------------------------------------------------------------------

// What a connection would make of the bytes, as a text.
std::string understand(const std::string& bytes, std::size_t step) {
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
    const std::string whole = understand(bytes, std::max<std::size_t>(bytes.size(), 1));
    ASSERT_EQ(understand(bytes, 1), whole) << testing::PrintToString(bytes);
    ASSERT_EQ(understand(bytes, 13), whole) << testing::PrintToString(bytes);
  }
}

// --- HTTP/2 -----------------------------------------------------------------------------------

// A server that answers each request at once and keeps count of what the session reports.
class Server {
 public:
  Server() : session_(h2::make_nghttp2_session(limits_, transfers_).value()) {}
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    for (h2::Transfer* const transfer : alive_) release(transfer);
  }

  bool receive(std::string_view bytes) {
    h2::SessionEvents events;
    const bool good = session_->receive(bytes, events).has_value();
    for (const h2::SessionEvent& event : events) handle(event);
    base::BufferChain out;
    h2::SessionEvents sent;
    const bool sent_all = session_->send(out, 1'000'000, sent).has_value();
    for (const h2::SessionEvent& event : sent) handle(event);
    return good && sent_all && !session_->finished();
  }
  const std::string& log() const { return log_; }

 private:
  void handle(const h2::SessionEvent& event) {
    h2::Transfer* const transfer = event.transfer;
    const bool known = std::ranges::find(alive_, transfer) != alive_.end();
    using Kind = h2::SessionEvent::Kind;
    ASSERT_EQ(known, event.kind != Kind::request);
    switch (event.kind) {
      case Kind::request:
        alive_.push_back(transfer);
        log_ += std::to_string(transfer->id) + " " + std::string(transfer->head.method_name);
        EXPECT_LE(transfer->head.fields.size(), limits_.fields_max);
        transfer->response = Response(200, "hello");
        transfer->outgoing.open(transfer->response, false, 8192);
        session_->respond(*transfer, fields_, true);
        break;
      case Kind::data:
        ASSERT_FALSE(event.bytes.empty());
        log_ += event.bytes;
        session_->consume(*transfer, event.bytes.size());
        break;
      case Kind::ended:
      case Kind::body_taken:
        break;
      case Kind::closed:
        std::erase(alive_, transfer);
        release(transfer);
        break;
    }
  }
  void release(h2::Transfer* transfer) {
    base::Pool<h2::Transfer>::Pointer(transfer, {&transfers_}).reset();
  }

  const Limits limits_;
  base::Pool<h2::Transfer> transfers_;
  std::unique_ptr<h2::Session> session_;
  std::vector<h2::Transfer*> alive_;
  const std::vector<Field> fields_ = {{":status", "200"}};
  std::string log_;
};

TEST(Corpus, Http2BreaksNoInvariantHoweverItArrives) {
  const std::vector<std::string> files = files_of("fuzz-http2");
  if (files.empty()) GTEST_SKIP() << "no ../shared/corpora/fuzz-http2";
  std::size_t requests = 0;
  for (const std::string& bytes : files) {
    for (const std::size_t step : {bytes.size(), std::size_t{1}, std::size_t{50}}) {
      Server server;
      for (std::string_view rest = bytes; !rest.empty();) {
        const std::string piece(rest.substr(0, step));  // a buffer of its own: overruns are seen
        rest.remove_prefix(piece.size());
        if (!server.receive(piece)) break;
      }
      requests += server.log().empty() ? 0 : 1;
    }
  }
  EXPECT_GT(requests, 0U);  // the corpus reaches beyond the preface
}

}  // namespace
}  // namespace h2server::http
