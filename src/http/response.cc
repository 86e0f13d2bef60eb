#include "h2server/response.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "h2server/cookies.h"
#include "http/fields/syntax.h"
#include "http/file_head.h"

namespace h2server {

namespace {

// Room for them is allocated at once.
constexpr std::size_t usual_fields = 4;

// A handler must not set these: a second length or coding would make the framing ambiguous.
bool is_set_by_server(std::string_view name) {
  constexpr std::array<std::string_view, 4> names = {"content-length", "transfer-encoding",
                                                     "connection", "date"};
  return std::ranges::any_of(
      names, [&](std::string_view own) { return http::equals_ignoring_case(own, name); });
}

void check_field(std::string_view name, std::string_view value) {
  bool valid = http::is_token(name) && !is_set_by_server(name) && http::trim(value) == value;
  for (const char c : value) valid = valid && http::is_field_value_character(c);
  if (!valid) throw std::invalid_argument("not a field line: " + std::string(name));
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

Response::Response(FileRef file) : whole_file_(true), body_(std::in_place_type<FilePart>) {
  if (file == nullptr) throw std::invalid_argument("a response without its file");
  auto& part = *std::get_if<FilePart>(&body_);
  part.count = file->size();
  part.file = std::move(file);
}

Response::Response(std::unique_ptr<BodySource> source, std::string_view content_type,
                   std::optional<std::uint64_t> size)
    : body_(Streamed{std::move(source), size}) {
  check_body(body_);
  add("Content-Type", content_type);
}

Response& Response::add(std::string_view name, std::string_view value) & {
  check_field(name, value);
  if (fields_.capacity() == 0) fields_.reserve(usual_fields);
  fields_.push_back({std::string(name), std::string(value)});
  return *this;
}

Response& Response::replace(std::string_view name, std::string_view value) & {
  check_field(name, value);
  Line line{std::string(name), std::string(value)};  // they may be views of what is removed
  remove(line.name);
  if (fields_.capacity() == 0) fields_.reserve(usual_fields);
  fields_.push_back(std::move(line));
  return *this;
}

Response& Response::remove(std::string_view name) & {
  const auto has_name = [name](const auto& line) {
    return http::equals_ignoring_case(line.name, name);
  };
  const File* const file = described_by();
  if (file != nullptr && std::ranges::any_of(file->head().fields, has_name)) own_file_fields();
  std::erase_if(fields_, has_name);
  return *this;
}

std::optional<std::string_view> Response::find(std::string_view name) const noexcept {
  const auto find_in = [name](const auto& lines) -> std::optional<std::string_view> {
    for (const auto& line : lines) {
      if (http::equals_ignoring_case(line.name, name)) return line.value;
    }
    return std::nullopt;
  };
  const File* const file = described_by();
  const std::optional<std::string_view> of_file =
      file != nullptr ? find_in(file->head().fields) : std::nullopt;
  return of_file ? of_file : find_in(fields_);
}

Response& Response::set_cookie(const SetCookie& cookie) & {
  return add("Set-Cookie", to_field(cookie));
}

void Response::set_status(int status) {
  status = checked_status(status);
  // The precomputed head of a file is that of a 200.
  if (status != status_ && described_by() != nullptr) own_file_fields();
  status_ = status;
}

void Response::own_file_fields() {
  std::vector<Line> lines;
  for (const http::FileField& field : described_by()->head().fields) {
    lines.push_back({std::string(field.name), std::string(field.value)});
  }
  std::ranges::move(fields_, std::back_inserter(lines));
  fields_ = std::move(lines);
  whole_file_ = false;
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
  if (const auto* const part = std::get_if<FilePart>(&body_)) return part->count;
  if (const auto* const text = std::get_if<std::string>(&body_)) return text->size();
  if (const auto* const streamed = std::get_if<Streamed>(&body_)) return streamed->size;
  return 0;
}

}  // namespace h2server
