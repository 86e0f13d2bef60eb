#include "h2server/response.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "http/syntax.h"

namespace h2server {

namespace {

// A handler must not set these: a second length or coding would make the framing ambiguous.
bool is_set_by_server(std::string_view name) {
  constexpr std::array<std::string_view, 4> names = {"content-length", "transfer-encoding",
                                                     "connection", "date"};
  return std::ranges::any_of(
      names, [&](std::string_view own) { return http::equals_ignoring_case(own, name); });
}

void check_body(const Response::Body& body) {
  const auto* const part = std::get_if<Response::FilePart>(&body);
  if (part != nullptr && (part->file == nullptr || part->first > part->file->size() ||
                          part->count > part->file->size() - part->first)) {
    throw std::invalid_argument("not a part of a file");
  }
  const auto* const streamed = std::get_if<Response::Streamed>(&body);
  if (streamed != nullptr && streamed->source == nullptr) {
    throw std::invalid_argument("a response without its source");
  }
}

}  // namespace

int Response::checked_status(int status) {
  if (status < 200 || status > 599) {
    throw std::invalid_argument("not the status of a response: " + std::to_string(status));
  }
  return status;
}

Response::Response(int status, std::string body, std::string_view content_type)
    : status_(checked_status(status)), body_(std::move(body)) {
  add("Content-Type", content_type);
}

Response::Response(FileRef file) : whole_file_(true) {
  if (file == nullptr) throw std::invalid_argument("a response without its file");
  const std::uint64_t size = file->size();
  body_ = FilePart{std::move(file), 0, size};
}

Response::Response(std::unique_ptr<BodySource> source, std::string_view content_type,
                   std::optional<std::uint64_t> size)
    : body_(Streamed{std::move(source), size}) {
  check_body(body_);
  add("Content-Type", content_type);
}

Response& Response::add(std::string_view name, std::string_view value) {
  bool valid = http::is_token(name) && !is_set_by_server(name) && http::trim(value) == value;
  for (const char c : value) valid = valid && http::is_field_value_character(c);
  if (!valid) throw std::invalid_argument("not a field line: " + std::string(name));
  fields_.push_back({std::string(name), std::string(value)});
  return *this;
}

void Response::set_body(Body body) {
  check_body(body);
  body_ = std::move(body);
  whole_file_ = false;
}

const File* Response::described_by() const noexcept {
  const auto* const part = std::get_if<FilePart>(&body_);  // body() allows replacing it
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
