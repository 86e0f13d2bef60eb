// Tests bodies of responses over an HTTP/2 connection.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "file/support.h"
#include "http/echo_source.h"
#include "http/h2/connection_fixture.h"

namespace h2server::http::h2 {
namespace connection_bodies_test {

class H2ConnectionBodies : public ConnectionFixture {};

INSTANTIATE_TEST_SUITE_P(, H2ConnectionBodies,
                         testing::Values(Http2Implementation::native, Http2Implementation::nghttp2),
                         name_of_parameter);

// --- bodies of responses ----------------------------------------------------------------------

TEST_P(H2ConnectionBodies, StreamsPieceByPiece) {
  add_streamed({"abc", std::string(200'000, 'x'), "d"});
  open();
  const std::int32_t id = client_.request("GET", "/streamed");
  const std::int32_t head = client_.request("HEAD", "/streamed");
  settle();
  EXPECT_TRUE(answer(id).body == "abc" + std::string(200'000, 'x') + "d");
  EXPECT_TRUE(answer(id).ended);
  EXPECT_TRUE(answer(head).ended);
  EXPECT_EQ(source_reads_, 4);  // the body for HEAD is not read
  transport_.end();
}

TEST_P(H2ConnectionBodies, AsksForNoPieceOfAStreamThatIsGone) {
  add_streamed({std::string(200'000, 'x'), "d"});
  open();
  const std::int32_t id = client_.request("GET", "/streamed");
  transport_.arrive(client_.bytes());  // fills the client's window
  EXPECT_EQ(source_reads_, 1);
  client_.reset(id);
  settle();
  EXPECT_EQ(source_reads_, 1);
  transport_.end();
  EXPECT_TRUE(over());
}

TEST_P(H2ConnectionBodies, AStreamThatGoesWrongIsReset) {
  testing::internal::CaptureStderr();
  const std::vector<std::pair<std::vector<std::string>, std::optional<std::uint64_t>>> rows = {
      {{"abc", "fail"}, {}}, {{"abc", "throw"}, {}}, {{"abc", "de"}, 4}, {{"abc"}, 4}};
  std::size_t row = 0;
  add(GET, "/streamed", [&](Request&) {
    return Response(std::make_unique<Pieces>(rows[row].first, std::vector<Field>(), &source_reads_),
                    "text/plain", rows[row].second);
  });
  open();
  for (; row < rows.size(); ++row) {
    const std::int32_t id = client_.request("GET", "/streamed");
    const std::int32_t other = client_.request("GET", "/hello");
    settle();
    EXPECT_EQ(answer(id).body, "abc") << row;
    EXPECT_EQ(answer(id).reset, static_cast<std::uint32_t>(NGHTTP2_INTERNAL_ERROR)) << row;
    EXPECT_EQ(answer(other).body, "hello");
  }
  transport_.end();
  testing::internal::GetCapturedStderr();
}

// --- content that is read where it was received -------------------------------------------------

// Reads content, and keeps each piece for a while before it is used.
Task<Response> keep_pieces(Request& request, coro::Event& goes_on,
                           std::vector<std::size_t>& sizes) {
  std::string all;
  for (;;) {
    const Result<std::string_view> piece = co_await request.read();
    if (!piece) co_return Response(400, "broken");
    if (piece->empty()) break;
    sizes.push_back(piece->size());
    co_await goes_on.wait();
    all += *piece;
  }
  co_return Response(200, std::move(all));
}

TEST_P(H2ConnectionBodies, APieceStaysWhileMoreIsReceived) {
  std::vector<std::size_t> sizes;
  add(POST, "/kept", [&](Request& request) { return keep_pieces(request, event_, sizes); });
  open();
  const std::int32_t id = client_.request("POST", "/kept", {}, "", false);
  const std::int32_t other = client_.request("POST", "/echo", {}, "", false);
  settle();
  std::string sent, echoed;
  for (char c = 'a'; c <= 'f'; ++c) {
    sent.append(6000, c);
    client_.send(id, std::string(6000, c), c == 'f');
    echoed.append(5000, static_cast<char>(c - 32));
    client_.send(other, std::string(5000, static_cast<char>(c - 32)), c == 'f');
    settle();
    if (c % 2 == 0 && event_.awaited()) event_.set();
    settle();
  }
  while (event_.awaited()) {
    event_.set();
    settle();
  }
  EXPECT_TRUE(answer(id).body == sent);
  EXPECT_TRUE(answer(other).body == echoed);
  EXPECT_EQ(sizes.front(), 6000U);
  transport_.end();
  EXPECT_TRUE(over());
}

TEST_P(H2ConnectionBodies, AStreamEndsWhileAPieceIsRead) {
  std::vector<std::size_t> sizes;
  add(POST, "/kept", [&](Request& request) { return keep_pieces(request, event_, sizes); });
  open();
  const std::int32_t id = client_.request("POST", "/kept", {}, "", false);
  settle();
  client_.send(id, std::string(9000, 'x'), false);
  settle();
  ASSERT_TRUE(event_.awaited());
  client_.reset(id);
  settle();
  event_.set();
  settle();
  const std::int32_t echoed = client_.request("POST", "/echo", {}, std::string(9000, 'y'), true);
  settle();
  EXPECT_TRUE(answer(echoed).body == std::string(9000, 'y'));
  const std::int32_t last = client_.request("POST", "/kept", {}, "", false);
  settle();
  client_.send(last, std::string(9000, 'z'), false);
  settle();
  ASSERT_TRUE(event_.awaited());
  transport_.end();  // and so does the connection
  event_.set();
  EXPECT_TRUE(over());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{9000, 9000}));
}

// --- a source that reads the request ----------------------------------------------------------

TEST_P(H2ConnectionBodies, TheSourceOfAResponseReadsTheRequest) {
  add(POST, "/plain", echo_as_it_comes);
  add(POST, "/coroutine", echo_as_it_comes_later);
  open();
  for (const char* const path : {"/plain", "/coroutine"}) {
    const std::int32_t id = client_.request("POST", path, {}, "abc", false);
    settle();
    EXPECT_EQ(answer(id).status(), "200");
    EXPECT_EQ(answer(id).body, "abc") << path;
    const std::int32_t other = client_.request("GET", "/hello");
    client_.send(id, "def", true);
    settle();
    EXPECT_EQ(answer(id).body, "abcdef") << path;
    EXPECT_TRUE(answer(id).ended);
    EXPECT_EQ(answer(other).body, "hello");
  }
  transport_.end();
  EXPECT_TRUE(over());
}

TEST_P(H2ConnectionBodies, AsksForNoBodyInTheMiddleOfAResponse) {
  add(POST, "/plain", echo_as_it_comes);
  open();
  const Headers expects = {{"expect", "100-continue"}};
  const std::int32_t id = client_.request("POST", "/plain", expects, "", false);
  settle();
  EXPECT_FALSE(answer(id).continued);
  client_.send(id, "abc", true);
  settle();
  EXPECT_EQ(answer(id).body, "abc");
  EXPECT_FALSE(answer(id).reset.has_value());
  transport_.end();
}

TEST_P(H2ConnectionBodies, ASourceThatReadsLearnsThatTheStreamIsGone) {
  add(POST, "/plain", echo_as_it_comes);
  open();
  const std::int32_t id = client_.request("POST", "/plain", {}, "abc", false);
  settle();
  client_.reset(id);
  settle();
  const std::int32_t left = client_.request("POST", "/plain", {}, "abc", false);
  settle();
  EXPECT_EQ(answer(left).body, "abc");
  transport_.end();
  EXPECT_TRUE(over());
}

FileRef write_and_map(const std::string& path, std::size_t size) {
  const base::Fd made(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const std::string content(size, 'f');  // resident once written: no engine warms it
  EXPECT_EQ(::write(made.get(), content.data(), size), static_cast<ssize_t>(size));
  return tests::map_file(path);
}

TEST_P(H2ConnectionBodies, AFileThatShrinksResetsItsStreamOnly) {
  const std::string path = testing::TempDir() + "h2_connection_test_" + std::to_string(::getpid());
  const FileRef file = write_and_map(path, 500'000);
  add(GET, "/file", [&](Request&) { return Response(file); });
  open();
  const std::int32_t id = client_.request("GET", "/file");
  const std::int32_t other = client_.request("POST", "/echo", {}, "abc", false);
  transport_.arrive(client_.bytes());  // fills the client's window
  ASSERT_EQ(::truncate(path.c_str(), 100'000), 0);
  settle();
  EXPECT_EQ(answer(id).status(), "200");
  EXPECT_LT(answer(id).body.size(), 100'000U);
  EXPECT_EQ(answer(id).reset, static_cast<std::uint32_t>(NGHTTP2_INTERNAL_ERROR));
  client_.send(other, "def", true);
  settle();
  EXPECT_EQ(answer(other).body, "abcdef");
  transport_.end();
  ::unlink(path.c_str());
}

// The response is complete before the upload. The stream is reset after drain_bytes_max, and the
// mapping is released.
TEST_P(H2ConnectionBodies, AnUploadBehindTheResponseOfAMappedFileIsEnded) {
  const std::string path = testing::TempDir() + "h2_connection_test_" + std::to_string(::getpid());
  const FileRef file = write_and_map(path, 60'000);  // within the client's window
  add(GET, "/file", [&](Request&) { return Response(file); });
  open();
  const std::int32_t id = client_.request("GET", "/file", {}, "abc", false);
  settle();
  ASSERT_EQ(answer(id).body.size(), 60'000U);
  ASSERT_TRUE(answer(id).ended);
  client_.send(id, std::string(limits_.drain_bytes_max + 100'000, 'x'), false);
  settle();
  EXPECT_EQ(answer(id).reset, static_cast<std::uint32_t>(NGHTTP2_NO_ERROR));
  EXPECT_EQ(file.use_count(), 1) << "nobody else holds it";
  transport_.end();
  ::unlink(path.c_str());
}

}  // namespace connection_bodies_test
}  // namespace h2server::http::h2
