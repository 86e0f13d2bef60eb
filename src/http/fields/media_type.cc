#include "http/fields/media_type.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/text.h"
#include "http/fields/syntax.h"

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

static_assert(std::ranges::all_of(entries, [](const Entry& entry) {
  return entry.extension.size() <= extension_bytes_max;
}));

std::string_view name_of(std::string_view path) noexcept {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0: all of it
}

std::string_view extension_of(std::string_view path) noexcept {
  const auto name = name_of(path);
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return {};
  return name.substr(dot + 1);
}

// Looks for a lower-case extension. Returns an empty view if there is none.
std::string_view find_built_in(std::string_view extension) noexcept {
  const auto found = std::lower_bound(
      entries.begin(), entries.end(), extension,
      [](const Entry& entry, std::string_view key) { return entry.extension < key; });
  return found != entries.end() && found->extension == extension ? found->type : std::string_view();
}

// Calls `find` with the path's extension in lower case, and returns what that returns. An empty
// view if there is no extension, or one that is too long.
template <class Find>
std::string_view find_type(std::string_view path, Find find) noexcept {
  const auto extension = extension_of(path);
  if (extension.empty() || extension.size() > extension_bytes_max) return {};
  std::array<char, extension_bytes_max> buffer;
  std::ranges::transform(extension, buffer.begin(), base::to_lower);
  return find(std::string_view(buffer.data(), extension.size()));
}

std::string lower_case_type(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), base::to_lower);
  return lower;
}

// RFC 9110, 5.6.4.
bool is_quoted_string(std::string_view text) noexcept {
  if (text.size() < 2 || !text.starts_with('"') || !text.ends_with('"')) return false;
  text = text.substr(1, text.size() - 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') return false;
    if (text[i] == '\\' && ++i == text.size()) return false;
    if (!is_field_value_character(text[i])) return false;
  }
  return true;
}

// Such an extension may be the end of a file's name.
bool is_extension(std::string_view text) noexcept {
  const auto fits = [](char c) {
    return is_field_value_character(c) && c != '\t' && c != '.' && c != '/';
  };
  return !text.empty() && text.size() <= extension_bytes_max && std::ranges::all_of(text, fits);
}

std::string_view take_line(std::string_view& text) noexcept {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

// Returns the next word of the line; an empty one at its end or before a comment.
std::string_view take_word(std::string_view& line) noexcept {
  constexpr std::string_view blanks = " \t\r\v\f";
  line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
  if (line.starts_with('#')) return {};
  const std::string_view word = line.substr(0, line.find_first_of(blanks));
  line.remove_prefix(word.size());
  return word;
}

constexpr std::string_view unknown_type = "application/octet-stream";

}  // namespace

std::string_view media_type(std::string_view path) noexcept {
  if (extension_of(path).empty() && std::ranges::binary_search(text_names, name_of(path))) {
    return "text/plain; charset=utf-8";
  }
  const std::string_view type = find_type(path, find_built_in);
  return type.empty() ? unknown_type : type;
}

std::optional<std::string> normal_media_type(std::string_view text) {
  if (text.size() > media_type_bytes_max) return std::nullopt;
  const std::string_view name = take_until(text, ';');
  const std::size_t slash = std::min(name.find('/'), name.size());
  if (!is_token(name.substr(0, slash)) || !is_token(name.substr(std::min(slash + 1, name.size()))))
    return std::nullopt;
  std::string normal = lower_case_type(name);
  while (!text.empty()) {
    const std::string_view parameter = take_until(text, ';');
    if (parameter.empty()) continue;  // RFC 9110, 5.6.6
    const std::size_t equals = parameter.find('=');
    if (equals == parameter.npos || !is_token(parameter.substr(0, equals))) return std::nullopt;
    const std::string_view value = parameter.substr(equals + 1);
    if (!is_token(value) && !is_quoted_string(value)) return std::nullopt;
    normal.append("; ").append(parameter);
  }
  return normal;
}

Result<MediaTypes, std::string> MediaTypes::make(const std::map<std::string, std::string>& types) {
  MediaTypes made;
  for (const auto& [extension, type] : types) {
    if (!is_extension(extension)) {
      return std::unexpected("\"" + extension +
                             "\" is not what follows the last dot of a file's name, such as txt");
    }
    std::optional<std::string> normal = normal_media_type(type);
    if (!normal) {
      return std::unexpected("\"" + type + "\" is not a media type, such as text/plain");
    }
    made.types_.insert_or_assign(lower_case_type(extension), *std::move(normal));
  }
  return made;
}

std::string_view MediaTypes::of(std::string_view path) const noexcept {
  if (types_.empty()) return media_type(path);
  const std::string_view given = find_type(path, [this](std::string_view extension) {
    const auto found = types_.find(extension);
    return found != types_.end() ? std::string_view(found->second) : std::string_view();
  });
  return given.empty() ? media_type(path) : given;
}

std::map<std::string, std::string> parse_mime_types(std::string_view text) {
  std::map<std::string, std::string> types;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    std::optional<std::string> type = normal_media_type(take_word(line));
    if (!type || type->contains(';')) continue;
    if (type->starts_with("text/")) *type += "; charset=utf-8";
    for (;;) {
      const std::string_view word = take_word(line);
      if (word.empty()) break;
      if (!is_extension(word)) continue;
      std::string extension = lower_case_type(word);
      if (find_built_in(extension).empty()) types.insert_or_assign(std::move(extension), *type);
    }
  }
  return types;
}

}  // namespace h2server::http
