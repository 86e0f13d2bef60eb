#include "http/media_type.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace h2server::http {
namespace {

struct Entry {
  std::string_view extension;  // lower case
  std::string_view type;
};

// Sorted by extension. JavaScript is text/javascript (RFC 9239, 6). XML and JSON have no charset:
// XML declares its encoding itself, JSON is always UTF-8. Source code is text/plain, which browsers
// show; they save what has a type of its own, such as application/toml.
constexpr auto entries = std::to_array<Entry>({
    {"7z", "application/x-7z-compressed"},
    {"aac", "audio/aac"},
    {"apk", "application/vnd.android.package-archive"},
    {"apng", "image/apng"},
    {"atom", "application/atom+xml"},
    {"avi", "video/x-msvideo"},
    {"avif", "image/avif"},
    {"bin", "application/octet-stream"},
    {"bmp", "image/bmp"},
    {"br", "application/x-brotli"},
    {"bz2", "application/x-bzip2"},
    {"c", "text/plain; charset=utf-8"},
    {"cc", "text/plain; charset=utf-8"},
    {"cfg", "text/plain; charset=utf-8"},
    {"cjs", "text/javascript; charset=utf-8"},
    {"conf", "text/plain; charset=utf-8"},
    {"cpp", "text/plain; charset=utf-8"},
    {"cs", "text/plain; charset=utf-8"},
    {"css", "text/css; charset=utf-8"},
    {"csv", "text/csv; charset=utf-8"},
    {"deb", "application/vnd.debian.binary-package"},
    {"diff", "text/plain; charset=utf-8"},
    {"doc", "application/msword"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"env", "text/plain; charset=utf-8"},
    {"eot", "application/vnd.ms-fontobject"},
    {"epub", "application/epub+zip"},
    {"exe", "application/octet-stream"},
    {"flac", "audio/flac"},
    {"geojson", "application/geo+json"},
    {"gif", "image/gif"},
    {"glb", "model/gltf-binary"},
    {"gltf", "model/gltf+json"},
    {"go", "text/plain; charset=utf-8"},
    {"gz", "application/gzip"},
    {"h", "text/plain; charset=utf-8"},
    {"heic", "image/heic"},
    {"hpp", "text/plain; charset=utf-8"},
    {"htm", "text/html; charset=utf-8"},
    {"html", "text/html; charset=utf-8"},
    {"ico", "image/vnd.microsoft.icon"},
    {"ics", "text/calendar; charset=utf-8"},
    {"ini", "text/plain; charset=utf-8"},
    {"iso", "application/x-iso9660-image"},
    {"jar", "application/java-archive"},
    {"java", "text/plain; charset=utf-8"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript; charset=utf-8"},
    {"json", "application/json"},
    {"jsonld", "application/ld+json"},
    {"jxl", "image/jxl"},
    {"kt", "text/plain; charset=utf-8"},
    {"log", "text/plain; charset=utf-8"},
    {"lua", "text/plain; charset=utf-8"},
    {"m3u8", "application/vnd.apple.mpegurl"},
    {"m4a", "audio/mp4"},
    {"m4v", "video/mp4"},
    {"map", "application/json"},
    {"md", "text/markdown; charset=utf-8"},
    {"mid", "audio/midi"},
    {"midi", "audio/midi"},
    {"mjs", "text/javascript; charset=utf-8"},
    {"mkv", "video/matroska"},
    {"mov", "video/quicktime"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"mpd", "application/dash+xml"},
    {"mpeg", "video/mpeg"},
    {"mpg", "video/mpeg"},
    {"ndjson", "application/x-ndjson"},
    {"ods", "application/vnd.oasis.opendocument.spreadsheet"},
    {"odt", "application/vnd.oasis.opendocument.text"},
    {"oga", "audio/ogg"},
    {"ogg", "audio/ogg"},
    {"ogv", "video/ogg"},
    {"opus", "audio/ogg"},
    {"otf", "font/otf"},
    {"patch", "text/plain; charset=utf-8"},
    {"pdf", "application/pdf"},
    {"php", "text/plain; charset=utf-8"},
    {"pl", "text/plain; charset=utf-8"},
    {"png", "image/png"},
    {"ppt", "application/vnd.ms-powerpoint"},
    {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"py", "text/plain; charset=utf-8"},
    {"rar", "application/vnd.rar"},
    {"rb", "text/plain; charset=utf-8"},
    {"rpm", "application/x-rpm"},
    {"rs", "text/plain; charset=utf-8"},
    {"rss", "application/rss+xml"},
    {"rst", "text/plain; charset=utf-8"},
    {"rtf", "application/rtf"},
    {"sh", "text/plain; charset=utf-8"},
    {"shtml", "text/html; charset=utf-8"},
    {"sql", "application/sql"},
    {"srt", "text/plain; charset=utf-8"},
    {"svg", "image/svg+xml"},
    {"svgz", "image/svg+xml"},
    {"swift", "text/plain; charset=utf-8"},
    {"tar", "application/x-tar"},
    {"tex", "text/plain; charset=utf-8"},
    {"tgz", "application/gzip"},
    {"tif", "image/tiff"},
    {"tiff", "image/tiff"},
    {"toml", "text/plain; charset=utf-8"},
    {"ts", "video/mp2t"},
    {"tsv", "text/tab-separated-values; charset=utf-8"},
    {"ttf", "font/ttf"},
    {"txt", "text/plain; charset=utf-8"},
    {"vcf", "text/vcard; charset=utf-8"},
    {"vtt", "text/vtt; charset=utf-8"},
    {"wasm", "application/wasm"},
    {"wav", "audio/wav"},
    {"weba", "audio/webm"},
    {"webm", "video/webm"},
    {"webmanifest", "application/manifest+json"},
    {"webp", "image/webp"},
    {"whl", "application/zip"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"xhtml", "application/xhtml+xml"},
    {"xls", "application/vnd.ms-excel"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xml", "application/xml"},
    {"xsl", "application/xml"},
    {"xslt", "application/xslt+xml"},
    {"xz", "application/x-xz"},
    {"yaml", "application/yaml"},
    {"yml", "application/yaml"},
    {"zip", "application/zip"},
    {"zst", "application/zstd"},
});

static_assert(std::is_sorted(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
  return a.extension < b.extension;
}));

// Files without an extension that hold text.
constexpr std::array<std::string_view, 12> text_names = {
    "AUTHORS",    "CHANGELOG", "CHANGES", "CONTRIBUTING", "COPYING", "Containerfile",
    "Dockerfile", "INSTALL",   "LICENSE", "Makefile",     "NEWS",    "README"};
static_assert(std::ranges::is_sorted(text_names));

constexpr std::size_t extension_size_max =
    std::max_element(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.extension.size() < b.extension.size();
    })->extension.size();

std::string_view name_of(std::string_view path) noexcept {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0: all of it
}

std::string_view extension_of(std::string_view path) noexcept {
  const auto name = name_of(path);
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return {};
  return name.substr(dot + 1);
}

}  // namespace

std::string_view media_type(std::string_view path) noexcept {
  constexpr std::string_view unknown = "application/octet-stream";
  const auto extension = extension_of(path);
  if (extension.empty() && std::ranges::binary_search(text_names, name_of(path))) {
    return "text/plain; charset=utf-8";
  }
  if (extension.size() > extension_size_max) return unknown;
  std::array<char, extension_size_max> buffer{};
  std::transform(extension.begin(), extension.end(), buffer.begin(), base::to_lower);
  const std::string_view lower(buffer.data(), extension.size());
  const auto found = std::lower_bound(
      entries.begin(), entries.end(), lower,
      [](const Entry& entry, std::string_view key) { return entry.extension < key; });
  return found != entries.end() && found->extension == lower ? found->type : unknown;
}

}  // namespace h2server::http
