#include "http/h1/response_encoder.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "file/support.h"
#include "http/file_head.h"

namespace h2server::http::h1 {
namespace response_encoder_test {

std::string head_of(const Response& response, Version version = Version::http_1_1,
                    bool close = false) {
  base::BufferChain out;
  encode_head(out, response, {.date = "the date", .version = version, .close = close});
  std::string all;
  for (; !out.empty(); out.consume(out.front().size())) all += out.front();
  return all;
}

const std::string server = "Server: h2server\r\n";
const std::string end = "Date: the date\r\n\r\n";

class Nothing final : public BodySource {
 public:
  Task<Result<std::string_view>> read() override { co_return std::string_view(); }
};

Response streamed(std::optional<std::uint64_t> size = {}) {
  return {std::make_unique<Nothing>(), "a/b", size};
}

TEST(H1ResponseEncoder, WritesStatusFieldsAndFraming) {
  EXPECT_EQ(head_of(Response(200)), "HTTP/1.1 200 OK\r\n" + server + "Content-Length: 0\r\n" + end);
  EXPECT_EQ(head_of(Response(404, "hello", "a/b").add("X", "").add("x", "y")),
            "HTTP/1.1 404 Not Found\r\n" + server +
                "Content-Length: 5\r\nContent-Type: a/b\r\nX: \r\nx: y\r\n" + end);
  EXPECT_EQ(head_of(Response(299)),
            "HTTP/1.1 299 Unknown\r\n" + server + "Content-Length: 0\r\n" + end);
}

TEST(H1ResponseEncoder, WritesNoFramingWhereThereIsNoContent) {
  EXPECT_EQ(head_of(Response(204)), "HTTP/1.1 204 No Content\r\n" + server + end);
  EXPECT_EQ(head_of(Response(205, "text", "a/b")),
            "HTTP/1.1 205 Reset Content\r\n" + server +
                "Content-Length: 0\r\nContent-Type: a/b\r\n" + end);
  EXPECT_EQ(head_of(Response(304)), "HTTP/1.1 304 Not Modified\r\n" + server + end);
}

TEST(H1ResponseEncoder, ChunksWhatHasNoSizeForThoseWhoUnderstandIt) {
  const std::string ok = "HTTP/1.1 200 OK\r\n" + server;
  const std::string type = "Content-Type: a/b\r\n";
  EXPECT_EQ(head_of(streamed()), ok + "Transfer-Encoding: chunked\r\n" + type + end);
  EXPECT_EQ(head_of(streamed(7)), ok + "Content-Length: 7\r\n" + type + end);
  EXPECT_EQ(head_of(streamed(), Version::http_1_0, true),
            ok + type + "Date: the date\r\nConnection: close\r\n\r\n");
}

TEST(H1ResponseEncoder, SaysWhetherTheConnectionStays) {
  const std::string begin =
      "HTTP/1.1 200 OK\r\n" + server + "Content-Length: 0\r\nDate: the date\r\n";
  EXPECT_EQ(head_of(Response(200), Version::http_1_1, true), begin + "Connection: close\r\n\r\n");
  EXPECT_EQ(head_of(Response(200), Version::http_1_0, true), begin + "Connection: close\r\n\r\n");
  EXPECT_EQ(head_of(Response(200), Version::http_1_0), begin + "Connection: keep-alive\r\n\r\n");
}

TEST(H1ResponseEncoder, UsesTheHeadThatAFileBrings) {
  const FileRef page = tests::text_file("abc");
  EXPECT_EQ(head_of(Response(page).add("X", "y")), page->head().h1 + "X: y\r\n" + end);
}

TEST(H1ResponseEncoder, MakesRoomForWhatFollows) {
  for (const std::size_t following : {std::size_t{0}, std::size_t{400}, std::size_t{65'000}}) {
    base::BufferChain out(base::BufferChain::Begin::small);
    encode_head(out, Response(200), {.date = "the date", .following = following});
    out.append(std::string(following, 'x'));
    EXPECT_EQ(out.pieces(), 1U) << following;
  }
  base::BufferChain out;
  encode_head(out, Response(200), {.date = "the date", .following = ~std::size_t{0}});
  EXPECT_TRUE(out.front().ends_with(end));
}

TEST(H1ResponseEncoder, WritesHeadsOfAnySize) {
  for (const std::size_t size : {1000U, 60'000U, 64'900U, 65'000U, 65'519U, 65'520U, 200'000U}) {
    const std::string value(size, 'v');
    EXPECT_TRUE(head_of(Response(200).add("X", value)) ==
                "HTTP/1.1 200 OK\r\n" + server + "Content-Length: 0\r\nX: " + value + "\r\n" + end)
        << size;
  }
}

TEST(H1ResponseEncoder, WritesTheLargestNumbers) {
  const std::string head = head_of(streamed(UINT64_MAX));
  EXPECT_NE(head.find("Content-Length: 18446744073709551615\r\n"), std::string::npos);
}

TEST(H1ResponseEncoder, WritesChunkSizes) {
  const std::vector<std::pair<std::size_t, std::string>> rows = {
      {0, "0\r\n"},    {1, "1\r\n"},       {10, "a\r\n"},
      {255, "ff\r\n"}, {6699, "1a2b\r\n"}, {SIZE_MAX, "ffffffffffffffff\r\n"}};
  for (const auto& [size, text] : rows) {
    std::array<char, 24> room;
    EXPECT_EQ(encode_chunk_size(size, room), text);
  }
}

}  // namespace response_encoder_test
}  // namespace h2server::http::h1
