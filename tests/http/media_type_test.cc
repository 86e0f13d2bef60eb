#include "http/media_type.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace h2server::http {
namespace {

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

}  // namespace
}  // namespace h2server::http
