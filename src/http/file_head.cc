#include "http/file_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "base/text/text.h"
#include "http/fields/common_fields.h"
#include "http/fields/date.h"

namespace h2server {

File::File(std::unique_ptr<const file::Content> content, std::unique_ptr<const http::FileHead> head,
           std::unique_ptr<FileExtension> extension) noexcept
    : content_(std::move(content)), head_(std::move(head)), extension_(std::move(extension)) {}
File::File(std::unique_ptr<const file::Content> content, const File& file) noexcept
    : content_(std::move(content)), head_(file.head_), extension_(file.extension_) {}

File::~File() = default;

std::uint64_t File::size() const noexcept { return content_->size(); }
std::string_view File::content_type() const noexcept { return head_->content_type; }
std::string_view File::etag() const noexcept { return head_->etag; }
std::string_view File::last_modified() const noexcept { return head_->last_modified; }

namespace http {

namespace {

std::atomic<std::uint64_t> heads{0};

std::string imf_fixdate(std::int64_t unix_seconds) {
  std::array<char, date_size> date;
  format_date(unix_seconds, date);
  return {date.data(), date.size()};
}

std::string etag_of(const file::FileVersion& version, const Representation& representation) {
  const std::string suffix =
      representation.encoded_size ? fmt::format("-{}", representation.coding) : std::string();
  return fmt::format("\"{:x}-{:x}-{:x}{:08x}{}\"", version.inode, version.size, version.changed_s,
                     version.changed_ns, suffix);
}

}  // namespace

FileHead::FileHead(const file::FileVersion& version, std::string_view type, std::int64_t now_s,
                   const Representation& representation)
    : content_type(type),
      etag(etag_of(version, representation)),
      // RFC 9110, 8.8.2.1: never in the future, whatever the file's time is.
      last_modified(imf_fixdate(std::min(version.modified_s, now_s))),
      fields({{"Content-Type", content_type, false},
              {"Last-Modified", last_modified, true},
              {"ETag", etag, true}}),
      size_(fmt::format("{}", representation.encoded_size.value_or(version.size))) {
  if (representation.coding.empty()) {
    fields.push_back({"Accept-Ranges", "bytes", false});
  } else {  // a request with Range gets the file itself
    fields.push_back({"Content-Encoding", representation.coding, false});
  }
  if (representation.negotiated) fields.push_back({"Vary", "Accept-Encoding", true});
  encode();
}

FileHead::FileHead(const ObjectHead& object, std::int64_t now_s)
    : content_type(object.type),
      etag(object.etag),
      stored_(object.fields.begin(), object.fields.end()),
      size_(fmt::format("{}", object.size)) {
  if (object.modified_s > 0) last_modified = imf_fixdate(std::min(object.modified_s, now_s));
  fields.push_back({"Content-Type", content_type, false});
  if (!last_modified.empty()) fields.push_back({"Last-Modified", last_modified, true});
  if (!etag.empty()) fields.push_back({"ETag", etag, true});
  fields.push_back({"Accept-Ranges", "bytes", false});
  for (const Response::Line& line : stored_) {
    const bool in_304 = base::equals_ignoring_case(line.name, "Cache-Control") ||
                        base::equals_ignoring_case(line.name, "Expires");
    fields.push_back({line.name, line.value, in_304});
  }
  encode();
}

void FileHead::encode() {
  namespace hpack = http::h2::hpack;
  h1 = fmt::format("HTTP/1.1 200 OK\r\n{}Content-Length: {}\r\n", common_lines, size_);
  std::vector<hpack::HashedField> shared;
  std::vector<Field> own = {{"content-length", size_}};
  std::uint64_t own_bytes = hpack::DynamicTable::entry_bytes("content-length", size_);
  std::size_t names_bytes = 0;
  for (const FileField& field : fields) names_bytes += field.name.size();
  names_.reserve(names_bytes);  // so that the views stay valid
  for (const FileField& field : fields) {
    h1.append(field.name).append(": ").append(field.value).append("\r\n");
    const std::size_t at = names_.size();
    for (const char c : field.name) names_ += base::to_lower(c);
    const Field named{std::string_view(names_).substr(at), field.value};
    // A store may have ETags of any length.
    const std::uint64_t bytes = hpack::DynamicTable::entry_bytes(named.name, named.value);
    const bool is_validator = named.name == "etag" || named.name == "last-modified";
    if (is_validator && own_bytes + bytes <= hpack::Group::bytes_max) {
      own_bytes += bytes;
      own.push_back(named);
    } else {
      shared.emplace_back(named);
    }
  }
  const std::uint64_t id = heads.fetch_add(1, std::memory_order_relaxed) + 1;
  h2 = http::h2::PreparedHead(std::move(shared), hpack::group_of(id, std::move(own)));
}

namespace {

FileRef make_file_of(std::unique_ptr<const file::Content> content, std::string_view type,
                     std::int64_t now_s) {
  auto head = std::make_unique<const FileHead>(content->version(), type, now_s);
  return std::make_shared<const File>(std::move(content), std::move(head));
}

}  // namespace

FileRef make_file(std::unique_ptr<const file::Content> content, std::string_view path,
                  std::int64_t now_s) {
  return make_file_of(std::move(content), media_type(path), now_s);
}

decltype(file::FolderOptions::make_file) file_maker(MediaTypesRef types) {
  return [types = std::move(types)](std::unique_ptr<const file::Content> content,
                                    std::string_view path, std::int64_t now_s) {
    return make_file_of(std::move(content), types->of(path), now_s);
  };
}

}  // namespace http

}  // namespace h2server
