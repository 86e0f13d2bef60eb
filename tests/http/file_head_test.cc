#include "http/file_head.h"

#include <gtest/gtest.h>

#include <string>

namespace h2server::http {
namespace {

constexpr std::int64_t modified_s = 784111777;  // Sun, 06 Nov 1994 08:49:37 GMT
constexpr file::FileVersion version{
    .inode = 0xab, .size = 3, .modified_s = modified_s, .changed_s = 1};

TEST(FileHead, HasTheSameFieldsForBothProtocols) {
  const FileHead head(version, "page.html", modified_s + 100);
  EXPECT_EQ(head.content_type, "text/html; charset=utf-8");
  EXPECT_EQ(head.last_modified, "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(head.etag, "\"ab-3-100000000\"");
  EXPECT_EQ(head.h1, "HTTP/1.1 200 OK\r\nServer: h2server\r\nContent-Length: 3\r\n"
                     "Content-Type: text/html; charset=utf-8\r\n"
                     "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nETag: \"ab-3-100000000\"\r\n"
                     "Accept-Ranges: bytes\r\n");
  std::string fields;
  for (const Field& field : head.h2) {
    fields.append(field.name).append("=").append(field.value).append(";");
  }
  EXPECT_EQ(fields,
            ":status=200;server=h2server;content-length=3;content-type=text/html; charset=utf-8;"
            "last-modified=Sun, 06 Nov 1994 08:49:37 GMT;etag=\"ab-3-100000000\";"
            "accept-ranges=bytes;");
}

// RFC 9110, 15.4.5.
TEST(FileHead, Has304RepeatTheValidators) {
  const FileHead head(version, "page.html", modified_s + 100);
  std::string names;
  for (const FileField& field : head.fields) {
    if (field.in_304) names.append(field.name).append(";");
  }
  EXPECT_EQ(names, "Last-Modified;ETag;");
}

// RFC 9110, 8.8.2.1.
TEST(FileHead, SaysOfNoFileThatItIsModifiedInTheFuture) {
  EXPECT_EQ(FileHead(version, "a", modified_s - 1).last_modified, "Sun, 06 Nov 1994 08:49:36 GMT");
}

TEST(FileHead, IsUnique) { EXPECT_NE(FileHead(version, "a", 0).id, FileHead(version, "a", 0).id); }

}  // namespace
}  // namespace h2server::http
