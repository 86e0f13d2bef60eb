#include "http/byteranges.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "file/parts_source.h"
#include "http/fields/syntax.h"
#include "http/file_head.h"

namespace h2server::http {

namespace {

// 128 bits: no content of any length contains it by chance.
std::string random_boundary() {
  return fmt::format("{:016x}{:016x}", base::random_number(), base::random_number());
}

std::vector<file::PartsSource::Part> make_parts(const File& file, std::span<const ByteRange> ranges,
                                                std::string_view boundary) {
  std::vector<file::PartsSource::Part> parts;
  parts.reserve(ranges.size() + 1);
  for (const ByteRange& range : ranges) {
    // RFC 2046, 5.1.1: the CRLF before a delimiter belongs to it.
    std::string text =
        fmt::format("{}--{}\r\nContent-Type: {}\r\nContent-Range: bytes {}-{}/{}\r\n\r\n",
                    parts.empty() ? "" : "\r\n", boundary, file.content_type(), range.first,
                    range.first + range.count - 1, file.size());
    parts.push_back({std::move(text), range.first, range.count});
  }
  parts.push_back({fmt::format("\r\n--{}--\r\n", boundary), 0, 0});
  return parts;
}

}  // namespace

Response byteranges_response(FileRef file, std::span<const ByteRange> ranges) {
  const std::string boundary = random_boundary();
  Response response(206);
  // RFC 9110, 15.3.7.2: Content-Range is in the parts only.
  response.add("Content-Type", "multipart/byteranges; boundary=" + boundary);
  for (const FileField& field : file->head().fields) {
    if (!equals_ignoring_case(field.name, "content-type")) response.add(field.name, field.value);
  }
  std::vector<file::PartsSource::Part> parts = make_parts(*file, ranges, boundary);
  auto source = std::make_unique<file::PartsSource>(std::move(file), std::move(parts));
  const std::uint64_t size = source->size();
  response.set_body(Response::Streamed{std::move(source), size});
  return response;
}

}  // namespace h2server::http
