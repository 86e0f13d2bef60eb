#include "load/request_plan.h"

#include <gtest/gtest.h>

#include <string>

namespace h2server::lab::load {
namespace request_plan_test {

std::string bytes_of(Upload upload, std::size_t piece_bytes) {
  std::string all;
  while (upload.left() > 0) {
    const Upload::Piece piece = upload.take(piece_bytes);
    EXPECT_FALSE(piece.bytes.empty());
    EXPECT_LE(piece.bytes.size(), piece_bytes);
    all += piece.bytes;
  }
  EXPECT_EQ(all.size(), upload.size());
  return all;
}

std::string pattern_by_definition(std::size_t size) {
  std::string all;
  for (std::size_t i = 0; i < size; ++i) {
    all += static_cast<char>((i * 131 + (i >> 8)) & 255);
  }
  return all;
}

TEST(Upload, IsThePatternInPiecesOfAnySize) {
  for (const std::size_t size : {0UL, 1UL, 65'536UL, 300'001UL}) {
    const std::string wanted = pattern_by_definition(size);
    for (const std::size_t piece : {1'000UL, 16'384UL, 1'000'000UL}) {
      EXPECT_TRUE(bytes_of(Upload(size, {}, {}), piece) == wanted) << size << " by " << piece;
    }
  }
}

TEST(Upload, LiesBetweenItsTexts) {
  const std::string wanted = "before" + pattern_by_definition(70'000) + "after";
  EXPECT_TRUE(bytes_of(Upload(70'000, "before", "after"), 3) == wanted);
  EXPECT_TRUE(bytes_of(Upload(70'000, "before", "after"), 100'000) == wanted);
}

TEST(RequestPlan, WritesAHead) {
  auto plan = RequestPlan::make({.path = "/a", .authority = "h:1", .body_bytes = {}});
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->head(7, 0), "GET /a HTTP/1.1\r\nHost: h:1\r\nUser-Agent: h2server-lab\r\n\r\n");
}

TEST(RequestPlan, NumbersThePath) {
  auto plan =
      RequestPlan::make({.path = "/a{n}b?{n}", .authority = "h", .closes = true, .body_bytes = {}});
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->path(0), "/a0b?0");
  EXPECT_EQ(plan->head(12, 0), "GET /a12b?12 HTTP/1.1\r\nHost: h\r\nUser-Agent: h2server-lab\r\n"
                               "Connection: close\r\n\r\n");
}

TEST(RequestPlan, TellsTheSizeOfAnUpload) {
  auto plan = RequestPlan::make({.method = "PUT",
                                 .path = "/{n}",
                                 .authority = "h",
                                 .has_upload = true,
                                 .upload_bytes = 5,
                                 .body_bytes = {}});
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->upload(3).size(), 5U);
  EXPECT_EQ(plan->head(3, 5),
            "PUT /3 HTTP/1.1\r\nHost: h\r\nUser-Agent: h2server-lab\r\n"
            "Content-Type: application/octet-stream\r\nContent-Length: 5\r\n\r\n");
}

TEST(RequestPlan, WrapsAForm) {
  auto plan = RequestPlan::make({.method = "POST",
                                 .path = "/",
                                 .authority = "h",
                                 .has_upload = true,
                                 .upload_bytes = 3,
                                 .multipart = true,
                                 .body_bytes = {}});
  ASSERT_TRUE(plan.has_value());
  const std::string type(plan->content_type());
  ASSERT_TRUE(type.starts_with("multipart/form-data; boundary="));
  const std::string boundary = type.substr(type.find('=') + 1);
  EXPECT_EQ(bytes_of(plan->upload(42), 1000),
            "--" + boundary +
                "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"load-42\"\r\n"
                "Content-Type: application/octet-stream\r\n\r\n" +
                pattern_by_definition(3) + "\r\n--" + boundary + "--\r\n");
}

TEST(RequestPlan, PadsAMessage) {
  for (const char* const path : {"/", "/{n}"}) {
    auto plan = RequestPlan::make(
        {.path = path, .authority = "h", .message_bytes = 1204, .body_bytes = {}});
    ASSERT_TRUE(plan.has_value());
    EXPECT_EQ(plan->head(0, 0).size(), 1204U);
    EXPECT_EQ(plan->head(123'456, 0).size(), 1204U);
    EXPECT_TRUE(plan->head(1, 0).ends_with("p\r\n\r\n"));
  }
}

TEST(RequestPlan, RefusesAMessageThatIsLongAlready) {
  EXPECT_FALSE(
      RequestPlan::make({.path = "/", .authority = "h", .message_bytes = 20, .body_bytes = {}}));
}

}  // namespace request_plan_test
}  // namespace h2server::lab::load
