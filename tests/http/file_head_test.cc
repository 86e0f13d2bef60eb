#include "http/file_head.h"

#include <gtest/gtest.h>

#include <string>

namespace h2server::http {
namespace {

constexpr std::int64_t modified_s = 784111777;  // Sun, 06 Nov 1994 08:49:37 GMT
constexpr file::FileVersion version{
    .inode = 0xab, .size = 3, .modified_s = modified_s, .changed_s = 1};

TEST(FileHead, HasTheSameFieldsForBothProtocols) {
  const FileHead head(version, "text/html; charset=utf-8", modified_s + 100);
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

std::string lines_of(const FileHead& head) {
  std::string lines;
  for (const FileField& field : head.fields) {
    lines.append(field.name).append(": ").append(field.value).append(field.in_304 ? " *\n" : "\n");
  }
  return lines;
}

// RFC 9110, 8.8.3.3 and 12.5.5.
TEST(FileHead, DescribesARepresentation) {
  const FileHead negotiated(version, "text/plain; charset=utf-8", modified_s, {.negotiated = true});
  EXPECT_EQ(lines_of(negotiated), "Content-Type: text/plain; charset=utf-8\n"
                                  "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT *\n"
                                  "ETag: \"ab-3-100000000\" *\nAccept-Ranges: bytes\n"
                                  "Vary: Accept-Encoding *\n");
  const FileHead sibling(version, "text/plain; charset=utf-8", modified_s,
                         {.coding = "br", .negotiated = true});
  EXPECT_EQ(lines_of(sibling), "Content-Type: text/plain; charset=utf-8\n"
                               "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT *\n"
                               "ETag: \"ab-3-100000000\" *\nContent-Encoding: br\n"
                               "Vary: Accept-Encoding *\n");
  const FileHead copy(version, "text/plain; charset=utf-8", modified_s,
                      {.coding = "gzip", .encoded_size = 77, .negotiated = true});
  EXPECT_EQ(copy.etag, "\"ab-3-100000000-gzip\"");
  EXPECT_NE(copy.h1.find("\r\nContent-Length: 77\r\n"), std::string::npos);
  EXPECT_NE(copy.h1.find("\r\nContent-Encoding: gzip\r\nVary: Accept-Encoding\r\n"),
            std::string::npos);
  EXPECT_EQ(copy.h2.back().name, "vary");
  EXPECT_EQ(copy.h2[copy.h2.size() - 2].name, "content-encoding");
}

// RFC 9110, 15.4.5.
TEST(FileHead, Has304RepeatTheValidators) {
  const FileHead head(version, "text/html; charset=utf-8", modified_s + 100);
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
