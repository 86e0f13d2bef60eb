#include "content/uploads/area/resumable_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/text.h"
#include "h2server/problem.h"

namespace h2server::content {

namespace {

constexpr std::string_view problem_types = "https://iana.org/assignments/http-problem-types#";

// Without parameters and blanks.
std::string_view bare_item(std::string_view value) {
  return base::trim(value.substr(0, std::min(value.find(';'), value.size())));
}

Response problem(int status, std::string_view type, std::string_view title) {
  Problem told{.status = status};
  told.type = fmt::format("{}{}", problem_types, type);
  told.title = title;
  return Response::problem(told);
}

}  // namespace

std::optional<bool> parse_item_boolean(std::string_view value) {
  const std::string_view item = bare_item(value);
  if (item == "?1") return true;
  if (item == "?0") return false;
  return std::nullopt;
}

std::optional<std::uint64_t> parse_item_integer(std::string_view value) {
  constexpr std::size_t digits_max = 15;
  const std::string_view item = bare_item(value);
  if (item.size() > digits_max) return std::nullopt;
  return base::parse_decimal(item);
}

std::string_view item_boolean(bool value) { return value ? "?1" : "?0"; }

std::string upload_limit(std::uint64_t size_max, std::int64_t age_s) {
  const std::string age = fmt::format("max-age={}", std::max<std::int64_t>(age_s, 0));
  return size_max == 0 ? age : fmt::format("max-size={}, {}", size_max, age);
}

// Written by hand: the draft's extensions have a '-', which RFC 9457, 3.2 does not recommend.
Response mismatching_offset(std::uint64_t expected, std::uint64_t provided) {
  constexpr std::string_view format =
      R"({{"type":"{}mismatching-upload-offset",)"
      R"("title":"offset from request does not match offset of resource","status":409,)"
      R"("expected-offset":{},"provided-offset":{}}})";
  Response response(409, fmt::format(format, problem_types, expected, provided),
                    "application/problem+json");
  response.add("Upload-Offset", std::to_string(expected));
  return response;
}

Response completed_upload() {
  return problem(400, "completed-upload", "upload is already completed");
}

Response inconsistent_length() {
  return problem(400, "inconsistent-upload-length", "inconsistent length values for upload");
}

}  // namespace h2server::content
