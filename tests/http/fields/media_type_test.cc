#include "http/fields/media_type.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace h2server::http {
namespace media_type_test {

TEST(Mime, Table) {
  const std::string unknown = "application/octet-stream";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"index.html", "text/html; charset=utf-8"},
      {"/a/b/INDEX.HTM", "text/html; charset=utf-8"},
      {"/style.css", "text/css; charset=utf-8"},
      {"/app.js", "text/javascript; charset=utf-8"},
      {"/app.mjs", "text/javascript; charset=utf-8"},
      {"/app.js.map", "application/json"},
      {"/x.json", "application/json"},
      {"/x.svg", "image/svg+xml"},
      {"/x.PnG", "image/png"},
      {"/x.jpg", "image/jpeg"},
      {"/x.jpeg", "image/jpeg"},
      {"/x.woff2", "font/woff2"},
      {"/x.wasm", "application/wasm"},
      {"/x.7z", "application/x-7z-compressed"},
      {"/x.tar.gz", "application/gzip"},
      {"/x.zst", "application/zstd"},
      {"/site.webmanifest", "application/manifest+json"},
      {"/x.txt", "text/plain; charset=utf-8"},
      {"/x.csv", "text/csv; charset=utf-8"},
      {"/x.xml", "application/xml"},
      {"/x.mp4", "video/mp4"},
      {"/x.flac", "audio/flac"},
      {".a.html", "text/html; charset=utf-8"},
      {"", unknown},
      {"/", unknown},
      {"html", unknown},
      {"/html", unknown},
      {"/x.", unknown},
      {"/.html", unknown},
      {".html", unknown},
      {"/a.html/b", unknown},
      {"/a.html/", unknown},
      {"/x.htm1", unknown},
      {"/x.ht", unknown},
      {"/x.html ", unknown},
      {"/x.webmanifestx", unknown},
      {"/x." + std::string(1000, 'a'), unknown},
      {std::string("/x.png\0", 7), unknown},
  };
  for (const auto& [path, type] : rows) EXPECT_EQ(media_type(path), type) << path;
}

TEST(MediaTypes, GivenOnesComeFirst) {
  const auto types = MediaTypes::make({{"Foo", "TEXT/X-Foo;charset=UTF-8"},
                                       {"html", "text/plain"},
                                       {"b c", "a/b"},
                                       {std::string(32, 'x'), "a/long"}});
  ASSERT_TRUE(types) << types.error();
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a.foo", "text/x-foo; charset=UTF-8"},
      {"/foo/a.FOO", "text/x-foo; charset=UTF-8"},
      {"a.html", "text/plain"},
      {"a.HTML", "text/plain"},
      {"a.htm", "text/html; charset=utf-8"},
      {"a.b c", "a/b"},
      {"a." + std::string(32, 'X'), "a/long"},
      {"a." + std::string(33, 'x'), "application/octet-stream"},
      {".foo", "application/octet-stream"},
      {"foo", "application/octet-stream"},
      {"a.foo/b", "application/octet-stream"},
      {"a.fo", "application/octet-stream"},
      {"a.", "application/octet-stream"},
      {"README", "text/plain; charset=utf-8"},
      {"", "application/octet-stream"},
  };
  for (const auto& [path, type] : rows) EXPECT_EQ(types->of(path), type) << path;
  EXPECT_EQ(MediaTypes().of("a.foo"), "application/octet-stream");
  EXPECT_EQ(MediaTypes().of("a.html"), "text/html; charset=utf-8");
}

TEST(MediaTypes, RefusesExtensions) {
  for (const std::string& extension :
       {std::string(), std::string(".foo"), std::string("tar.gz"), std::string("a/b"),
        std::string("a\tb"), std::string("a\nb"), std::string("a\0", 2), std::string(33, 'x')}) {
    const auto types = MediaTypes::make({{extension, "text/plain"}});
    ASSERT_FALSE(types) << extension;
    EXPECT_EQ(
        types.error(),
        "\"" + extension + "\" is not what follows the last dot of a file's name, such as txt");
  }
  EXPECT_EQ(MediaTypes::make({{"foo", "text"}}).error(),
            "\"text\" is not a media type, such as text/plain");
}

// RFC 9110, 8.3.1 and 5.6.6. An empty text: refused.
TEST(MediaTypes, Grammar) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"text/plain", "text/plain"},
      {" text/plain ", "text/plain"},
      {"Image/SVG+XML", "image/svg+xml"},
      {"a!#$%&'*+.^_`|~-1/b", "a!#$%&'*+.^_`|~-1/b"},
      {"text/plain;charset=utf-8", "text/plain; charset=utf-8"},
      {"text/plain ;\tcharset=utf-8 ; a=B", "text/plain; charset=utf-8; a=B"},
      {"text/plain;", "text/plain"},
      {"text/plain;;a=b", "text/plain; a=b"},
      {"a/b; c=\"d;e, \\\" \xc3\xa4\"", "a/b; c=\"d;e, \\\" \xc3\xa4\""},
      {"a/b; c=\"\"", "a/b; c=\"\""},
      {"", ""},
      {"text", ""},
      {"text/", ""},
      {"/plain", ""},
      {"/", ""},
      {"text/plain/x", ""},
      {"text /plain", ""},
      {"text/ plain", ""},
      {"text/pl ain", ""},
      {"text/plain, text/html", ""},
      {"text/pl\"ain", ""},
      {"text/plain; charset", ""},
      {"text/plain; charset=", ""},
      {"text/plain; =utf-8", ""},
      {"text/plain; charset = utf-8", ""},
      {"text/plain; charset=utf 8", ""},
      {"text/plain; charset=\"utf", ""},
      {"text/plain; charset=\"", ""},
      {"text/plain; a=\"b\"c\"", ""},
      {"text/plain; a=\"b\\\"", ""},
      {"text/plain; a=\"b\r\nX: y\"", ""},
      {"text/plain\r\nX: y", ""},
      {std::string("text/plain\0", 11), ""},
      {"text/pl\xc3\xa4in", ""},
  };
  for (const auto& [text, normal] : rows) {
    EXPECT_EQ(normal_media_type(text).value_or(""), normal) << text;
  }
}

TEST(MimeTypes, AreRead) {
  const std::string text = "# comment\n"
                           "\n"
                           "application/x-a\t\t\ta AA  aaa\r\n"
                           "  text/x-b b # c d\n"
                           "#text/x-c c\n"
                           "application/x-none\n"
                           "text/html html htm hta\n"  // the built-in table knows two of them
                           "no-type x\n"
                           "text/x;charset=a y\n"
                           "Video/X-D d .e f/g h.i " +
                           std::string(33, 'j') +
                           "\n"
                           "application/x-first twice\n"
                           "application/x-last twice";
  const std::map<std::string, std::string> expected = {
      {"a", "application/x-a"},
      {"aa", "application/x-a"},
      {"aaa", "application/x-a"},
      {"b", "text/x-b; charset=utf-8"},
      {"hta", "text/html; charset=utf-8"},
      {"d", "video/x-d"},
      {"twice", "application/x-last"},
  };
  EXPECT_EQ(parse_mime_types(text), expected);
  EXPECT_TRUE(MediaTypes::make(expected));
  for (std::size_t size = 0; size < text.size(); ++size) {  // cut off anywhere
    EXPECT_TRUE(MediaTypes::make(parse_mime_types(text.substr(0, size))));
  }
  EXPECT_TRUE(parse_mime_types("").empty());
  EXPECT_TRUE(parse_mime_types("\n\n").empty());
  EXPECT_TRUE(parse_mime_types(std::string("\0a/b\0 x\n", 8)).empty());
}

}  // namespace media_type_test
}  // namespace h2server::http
