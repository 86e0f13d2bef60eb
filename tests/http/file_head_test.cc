#include "http/file_head.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace h2server::http {
namespace file_head_test {

constexpr std::int64_t modified_s = 784111777;  // Sun, 06 Nov 1994 08:49:37 GMT
constexpr file::FileVersion version{
    .inode = 0xab, .size = 3, .modified_s = modified_s, .changed_s = 1};

std::string text_of(const std::vector<Field>& fields) {
  std::string text;
  for (const Field& field : fields) {
    text.append(field.name).append("=").append(field.value).append(";");
  }
  return text;
}

std::string text_of(const std::vector<h2::hpack::HashedField>& shared) {
  std::vector<Field> fields;
  for (const h2::hpack::HashedField& hashed : shared) fields.push_back(hashed.field);
  return text_of(fields);
}

TEST(FileHead, HasTheSameFieldsForBothProtocols) {
  const FileHead head(version, "text/html; charset=utf-8", modified_s + 100);
  EXPECT_EQ(head.content_type, "text/html; charset=utf-8");
  EXPECT_EQ(head.last_modified, "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(head.etag, "\"ab-3-100000000\"");
  EXPECT_EQ(head.h1, "HTTP/1.1 200 OK\r\nServer: h2server\r\nContent-Length: 3\r\n"
                     "Content-Type: text/html; charset=utf-8\r\n"
                     "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nETag: \"ab-3-100000000\"\r\n"
                     "Accept-Ranges: bytes\r\n");
  EXPECT_EQ(text_of(head.h2.shared), "content-type=text/html; charset=utf-8;accept-ranges=bytes;");
  EXPECT_EQ(text_of(head.h2.own.fields),
            "content-length=3;last-modified=Sun, 06 Nov 1994 08:49:37 GMT;"
            "etag=\"ab-3-100000000\";");
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
  EXPECT_EQ(text_of(copy.h2.shared), "content-type=text/plain; charset=utf-8;"
                                     "content-encoding=gzip;vary=Accept-Encoding;");
}

// RFC 9110, 8.8.2.1.
TEST(FileHead, SaysOfNoFileThatItIsModifiedInTheFuture) {
  EXPECT_EQ(FileHead(version, "a", modified_s - 1).last_modified, "Sun, 06 Nov 1994 08:49:36 GMT");
}

TEST(FileHead, IsUnique) {
  EXPECT_NE(FileHead(version, "a", 0).h2.own.id, FileHead(version, "a", 0).h2.own.id);
}

// Of the longest numbers, which must not exceed a group of HPACK.
TEST(FileHead, MayHaveAnyVersion) {
  const FileHead head({.device = UINT64_MAX,
                       .inode = UINT64_MAX,
                       .size = UINT64_MAX,
                       .modified_s = INT64_MAX,
                       .changed_s = INT64_MAX,
                       .changed_ns = 999'999'999},
                      "a", modified_s, {.coding = "gzip", .encoded_size = UINT64_MAX});
  EXPECT_EQ(head.h2.own.fields.size(), 3U);
}

// Those that don't fit a group of HPACK are sent one by one.
TEST(FileHead, MayHaveAnyValidatorsOfAStore) {
  const std::string long_tag = '"' + std::string(150, 'e') + '"';
  const FileHead long_one({.size = 3, .etag = long_tag, .modified_s = modified_s}, modified_s);
  EXPECT_EQ(text_of(long_one.h2.shared),
            "content-type=;etag=" + long_tag + ";accept-ranges=bytes;");
  EXPECT_EQ(text_of(long_one.h2.own.fields),
            "content-length=3;last-modified=Sun, 06 Nov 1994 08:49:37 GMT;");
  const std::string fitting(256 - 32 * 3 - 14 - 1 - 13 - 29 - 4, 'e');
  EXPECT_EQ(FileHead({.size = 3, .etag = fitting, .modified_s = modified_s}, modified_s)
                .h2.own.fields.size(),
            3U);
  EXPECT_EQ(FileHead({.size = 3, .etag = fitting + 'e', .modified_s = modified_s}, modified_s)
                .h2.own.fields.size(),
            2U);
}

// They are told by their names: an object may expire when it was modified, or have an empty field.
TEST(FileHead, MayHaveFieldsThatAreLikeItsValidators) {
  const std::vector<Response::Line> stored = {
      {"Expires", "Sun, 06 Nov 1994 08:49:37 GMT"}, {"X-Tag", "\"t\""}, {"X-Empty", ""}};
  const std::string tag = "\"d41d8cd98f00b204e9800998ecf8427e\"";
  const FileHead head({.size = 3, .etag = tag, .modified_s = modified_s, .fields = stored},
                      modified_s);
  EXPECT_EQ(text_of(head.h2.own.fields),
            "content-length=3;last-modified=Sun, 06 Nov 1994 08:49:37 GMT;etag=" + tag + ";");
  const FileHead bare({.size = 3, .fields = stored}, modified_s);
  EXPECT_EQ(text_of(bare.h2.own.fields), "content-length=3;");
  EXPECT_EQ(text_of(bare.h2.shared),
            "content-type=;accept-ranges=bytes;expires=Sun, 06 Nov 1994 08:49:37 GMT;"
            "x-tag=\"t\";x-empty=;");
}

TEST(FileHead, DescribesAnObject) {
  const std::vector<Response::Line> stored = {
      {"Content-Encoding", "gzip"}, {"cache-control", "max-age=60"}, {"Expires", "0"}};
  const FileHead head(
      {.size = 3, .etag = "\"t\"", .modified_s = modified_s, .type = "text/x", .fields = stored},
      modified_s + 100);
  EXPECT_EQ(lines_of(head), "Content-Type: text/x\n"
                            "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT *\nETag: \"t\" *\n"
                            "Accept-Ranges: bytes\nContent-Encoding: gzip\n"
                            "cache-control: max-age=60 *\nExpires: 0 *\n");
  EXPECT_TRUE(head.h1.starts_with("HTTP/1.1 200 OK\r\nServer: h2server\r\nContent-Length: 3\r\n"));
  EXPECT_TRUE(head.h1.ends_with("cache-control: max-age=60\r\nExpires: 0\r\n"));
  EXPECT_EQ(text_of(head.h2.shared), "content-type=text/x;accept-ranges=bytes;"
                                     "content-encoding=gzip;cache-control=max-age=60;expires=0;");
  EXPECT_EQ(text_of(head.h2.own.fields),
            "content-length=3;last-modified=Sun, 06 Nov 1994 08:49:37 GMT;etag=\"t\";");
}

// RFC 9110, 8.8.2.1.
TEST(FileHead, ObjectsMayLackValidators) {
  const FileHead bare({.size = 0, .type = "text/x"}, 1);
  EXPECT_EQ(lines_of(bare), "Content-Type: text/x\nAccept-Ranges: bytes\n");
  const FileHead future({.size = 0, .modified_s = 253402300799, .type = "text/x"}, modified_s);
  EXPECT_EQ(future.last_modified, "Sun, 06 Nov 1994 08:49:37 GMT");
}

}  // namespace file_head_test
}  // namespace h2server::http
