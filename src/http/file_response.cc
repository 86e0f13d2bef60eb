#include "http/file_response.h"

#include <fmt/format.h>

#include <string>

#include "base/clock.h"
#include "http/conditional.h"
#include "http/message.h"
#include "http/ranges.h"
#include "http/syntax.h"

namespace h2server::http {

namespace {

struct FileFields {
  Preconditions preconditions;
  std::optional<std::string_view> range;
  bool any = false;
  bool lists_go_on = false;  // If-Match or If-None-Match has several lines; only the first is kept
};

// RFC 9110, 5.3: several lines of a list field form one list. Any other field must not be repeated;
// a repeated one is treated as empty: dates (13.1.3, 13.1.4) and Range (14.2) are ignored, and
// If-Range does not match.
FileFields find_fields(const Fields& fields) {
  FileFields found;
  const auto is_repeated = [&](const Field& line, std::string_view name,
                               std::optional<std::string_view>& place) {
    if (!equals_ignoring_case(line.name, name)) return false;
    if (place) return true;
    place = line.value;
    found.any = true;
    return false;
  };
  const auto note = [&](const Field& line, std::string_view name,
                        std::optional<std::string_view>& place) {
    if (is_repeated(line, name, place)) place = std::string_view();
  };
  const auto note_list = [&](const Field& line, std::string_view name,
                             std::optional<std::string_view>& place) {
    found.lists_go_on |= is_repeated(line, name, place);
  };
  for (const Field& line : fields) {
    switch (line.name.size()) {
      case 5:
        note(line, "range", found.range);
        break;
      case 8:
        note_list(line, "if-match", found.preconditions.if_match);
        note(line, "if-range", found.preconditions.if_range);
        break;
      case 13:
        note_list(line, "if-none-match", found.preconditions.if_none_match);
        break;
      case 17:
        note(line, "if-modified-since", found.preconditions.if_modified_since);
        break;
      case 19:
        note(line, "if-unmodified-since", found.preconditions.if_unmodified_since);
        break;
      default:
        continue;
    }
  }
  return found;
}

std::string join_lines(const Fields& fields, std::string_view name) {
  std::string list;
  for (const Field& line : fields) {
    if (equals_ignoring_case(line.name, name)) list.append(line.value).append(",");
  }
  return list;
}

PreconditionResult evaluate_fields(const RequestHead& head, const FileFields& fields,
                                   const Validators& validators, std::int64_t now) {
  const bool safe = head.method == Method::GET || head.method == Method::HEAD;
  if (!fields.lists_go_on) return evaluate(fields.preconditions, validators, safe, now);
  const std::string if_match = join_lines(head.fields, "if-match");
  const std::string if_none_match = join_lines(head.fields, "if-none-match");
  Preconditions joined = fields.preconditions;
  if (joined.if_match) joined.if_match = if_match;
  if (joined.if_none_match) joined.if_none_match = if_none_match;
  return evaluate(joined, validators, safe, now);
}

void add_validators(Response& response, const File& file) {
  response.add("Last-Modified", file.last_modified).add("ETag", file.etag);
}

Response part_of_file(FileRef file, const ByteRange& range) {
  Response response(206);
  response.add("Content-Type", file->content_type);
  response.add("Content-Range", fmt::format("bytes {}-{}/{}", range.first,
                                            range.first + range.count - 1, file->version.size));
  response.add("Accept-Ranges", "bytes");
  add_validators(response, *file);
  response.set_body(Response::FilePart{std::move(file), range.first, range.count});
  return response;
}

}  // namespace

Response file_response(const RequestHead& head, FileRef file) {
  const FileFields fields = find_fields(head.fields);
  if (!fields.any) return Response(std::move(file));
  const Validators validators{file->etag, file->version.modified_s};
  const std::int64_t now = base::unix_seconds();
  switch (evaluate_fields(head, fields, validators, now)) {
    case PreconditionResult::failed:
      return error_response(412);
    case PreconditionResult::not_modified: {
      Response response(304);
      add_validators(response, *file);
      return response;
    }
    case PreconditionResult::proceed:
      break;
  }
  // RFC 9110, 14.2: Range is defined for GET only.
  if (head.method != Method::GET || !fields.range ||
      !range_applies(fields.preconditions, validators, now)) {
    return Response(std::move(file));
  }
  const RangeChoice choice = choose_range(*fields.range, file->version.size);
  switch (choice.verdict) {
    case RangeVerdict::whole:
      break;
    case RangeVerdict::partial:
      return part_of_file(std::move(file), choice.range);
    case RangeVerdict::unsatisfiable: {
      Response response = error_response(416);
      response.add("Content-Range", fmt::format("bytes */{}", file->version.size));
      return response;
    }
  }
  return Response(std::move(file));
}

}  // namespace h2server::http
