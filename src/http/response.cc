#include "h2server/response.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "http/syntax.h"

namespace h2server {

namespace {

// Two of these in one head would frame the message in two ways.
bool is_set_by_server(std::string_view name) {
  constexpr std::array<std::string_view, 4> names = {"content-length", "transfer-encoding",
                                                     "connection", "date"};
  return std::ranges::any_of(
      names, [&](std::string_view own) { return http::equals_ignoring_case(own, name); });
}

}  // namespace

Response::Response(int status, std::string body, std::string_view content_type)
    : status_(status), body_(std::move(body)) {
  add("Content-Type", content_type);
}

Response::Response(FileRef file) : status_(200), whole_file_(true) {
  const std::uint64_t size = file->version.size;
  body_ = FilePart{std::move(file), 0, size};
}

Response::Response(std::unique_ptr<BodySource> source, std::string_view content_type,
                   std::optional<std::uint64_t> size)
    : status_(200), body_(Streamed{std::move(source), size}) {
  add("Content-Type", content_type);
}

Response& Response::add(std::string_view name, std::string_view value) {
  bool valid = http::is_token(name) && !is_set_by_server(name) && http::trim(value) == value;
  for (const char c : value) valid = valid && http::is_field_value_character(c);
  if (!valid) throw std::invalid_argument("not a field line: " + std::string(name));
  fields_.push_back({std::string(name), std::string(value)});
  return *this;
}

const File* Response::described_by() const noexcept {
  const auto* const part = std::get_if<FilePart>(&body_);  // body() may have replaced it
  return whole_file_ && part != nullptr ? part->file.get() : nullptr;
}

std::optional<std::uint64_t> Response::size() const noexcept {
  struct Visitor {
    std::optional<std::uint64_t> operator()(std::monostate) const { return 0; }
    std::optional<std::uint64_t> operator()(const std::string& text) const { return text.size(); }
    std::optional<std::uint64_t> operator()(const FilePart& part) const { return part.count; }
    std::optional<std::uint64_t> operator()(const Streamed& body) const { return body.size; }
  };
  return std::visit(Visitor{}, body_);
}

}  // namespace h2server
