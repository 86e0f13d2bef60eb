#include "http/byteranges.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "content/support.h"
#include "file/parts_source.h"
#include "file/support.h"

namespace h2server::http {
namespace byteranges_test {

using tests::field_of;

// Returns the whole body, or nullopt if it is not of the size that it promises.
std::optional<std::string> pull(Response& response) {
  auto& body = std::get<Response::Streamed>(response.body());
  std::string all;
  for (;;) {
    const Result<std::string_view> piece = tests::run_now(body.source->read());
    if (!piece) return std::nullopt;
    if (piece->empty()) break;
    all += *piece;
  }
  if (body.size != all.size()) return std::nullopt;
  return all;
}

std::string boundary_of(const Response& response) {
  const std::string type = field_of(response, "Content-Type");
  constexpr std::string_view prefix = "multipart/byteranges; boundary=";
  EXPECT_TRUE(type.starts_with(prefix)) << type;
  return type.substr(prefix.size());
}

TEST(Byteranges, AreExactlyThis) {
  const FileRef file = tests::text_file("0123456789", "page.html");
  Response response = byteranges_response(file, std::vector<ByteRange>{{8, 2}, {0, 1}, {3, 3}});
  EXPECT_EQ(response.status(), 206);
  const std::string boundary = boundary_of(response);
  EXPECT_EQ(boundary.size(), 32U);
  EXPECT_EQ(boundary.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(pull(response), "--" + boundary +
                                "\r\nContent-Type: text/html; charset=utf-8\r\n"
                                "Content-Range: bytes 8-9/10\r\n\r\n89"
                                "\r\n--" +
                                boundary +
                                "\r\nContent-Type: text/html; charset=utf-8\r\n"
                                "Content-Range: bytes 0-0/10\r\n\r\n0"
                                "\r\n--" +
                                boundary +
                                "\r\nContent-Type: text/html; charset=utf-8\r\n"
                                "Content-Range: bytes 3-5/10\r\n\r\n345"
                                "\r\n--" +
                                boundary + "--\r\n");
}

// The file's fields describe the response, except for those that the parts have.
TEST(Byteranges, HaveTheFieldsOfTheFile) {
  const FileRef file = tests::text_file("0123456789", "page.html");
  const Response response = byteranges_response(file, std::vector<ByteRange>{{0, 1}, {3, 3}});
  std::vector<std::string> names;
  for (const Response::Line& line : response.fields()) names.push_back(line.name);
  std::vector<std::string> expected;
  for (const FileField& field : file->head().fields) expected.emplace_back(field.name);
  EXPECT_EQ(names, expected);
  EXPECT_EQ(field_of(response, "ETag"), file->etag());
  EXPECT_EQ(field_of(response, "Last-Modified"), file->last_modified());
  EXPECT_EQ(field_of(response, "Accept-Ranges"), "bytes");
  EXPECT_EQ(field_of(response, "Content-Range"), "-");
  EXPECT_EQ(response.described_by(), nullptr);
}

TEST(Byteranges, HaveABoundaryOfTheirOwn) {
  const FileRef file = tests::text_file("0123456789", "a");
  const std::vector<ByteRange> ranges{{0, 1}, {3, 3}};
  EXPECT_NE(boundary_of(byteranges_response(file, ranges)),
            boundary_of(byteranges_response(file, ranges)));
}

// So that merging two ranges never makes a response larger.
TEST(Byteranges, CostAtLeastWhatMergingAssumes) {
  const FileRef file = tests::text_file(std::string(82, 'x'), "a.ttf");  // a media type of 8 bytes
  Response one = byteranges_response(file, std::vector<ByteRange>{{0, 1}});
  Response two = byteranges_response(file, std::vector<ByteRange>{{0, 1}, {9, 1}});
  EXPECT_GE(*two.size() - *one.size() - 1, RangeLimits::part_overhead_bytes);
}

TEST(Byteranges, KeepTheFileAlive) {
  FileRef file = tests::text_file("0123456789", "a");
  const std::weak_ptr<const File> seen = file;
  {
    Response response =
        byteranges_response(std::move(file), std::vector<ByteRange>{{0, 1}, {9, 1}});
    EXPECT_FALSE(seen.expired());
    EXPECT_TRUE(pull(response).has_value());
  }
  EXPECT_TRUE(seen.expired());
}

}  // namespace byteranges_test
}  // namespace h2server::http
