#include "h2server/request.h"

#include <fmt/format.h>

#include <cerrno>
#include <optional>
#include <stdexcept>
#include <string>

#include "h2server/own_stop.h"
#include "h2server/response.h"
#include "h2server/timing.h"
#include "http/byteranges.h"
#include "http/fields/conditional.h"
#include "http/fields/conditional_fields.h"
#include "http/fields/ranges.h"
#include "http/fields/syntax.h"
#include "http/file_head.h"
#include "http/message.h"
#include "http/read_all.h"

namespace h2server {

namespace {

// RFC 9110, 15.4.5.
Response not_modified(const File& file) {
  Response response(304);
  for (const http::FileField& field : file.head().fields) {
    if (field.in_304) response.add(field.name, field.value);
  }
  return response;
}

Response part_of_file(FileRef file, const http::ByteRange& range) {
  Response response(206);
  response.add("Content-Range", fmt::format("bytes {}-{}/{}", range.first,
                                            range.first + range.count - 1, file->size()));
  for (const http::FileField& field : file->head().fields) response.add(field.name, field.value);
  response.set_body(Response::FilePart{std::move(file), range.first, range.count});
  return response;
}

// Ends a read that waits.
class Interrupt final : private coro::StopHook {
 public:
  Interrupt(BodySource& body, coro::StopState* stop, bool& reading) noexcept
      : body_(body), reading_(reading) {
    reading_ = true;
    if (stop != nullptr) hook(*stop);
  }
  ~Interrupt() override { reading_ = false; }

 private:
  void on_stop(StopReason) noexcept override { body_.interrupt(); }
  BodySource& body_;
  bool& reading_;
};

Response unsatisfiable(const File& file) {
  Response response = http::error_response(416);
  response.add("Content-Range", fmt::format("bytes */{}", file.size()));
  return response;
}

}  // namespace

Request::Request(const RequestHead& head, const PathParams& params, BodySource* body,
                 coro::StopState* stop, const ConnectionInfo* connection) noexcept
    : head_(head), params_(params), body_(body), connection_(connection), stop_(stop) {}
Request::~Request() = default;

const ConnectionInfo& Request::connection() const noexcept {
  static const ConnectionInfo unknown;
  return connection_ != nullptr ? *connection_ : unknown;
}

void Request::set_deadline(std::chrono::milliseconds time) {
  if (stop_ == nullptr) throw std::logic_error("a deadline of a request without an exchange");
  deadline_ = std::make_unique<coro::StopTimer>(time, *stop_);
}

void Request::abort() {
  if (stop_ != nullptr) stop_->stop(StopReason::aborted);
}

Task<Result<std::string_view>> Request::read() {
  if (body_ == nullptr) co_return std::string_view();
  coro::StopState* const stop = co_await coro::OwnStop();
  if (stop != nullptr && stop->stopped())
    co_return std::unexpected(Error{ECANCELED, "request body"});
  if (reading_) throw std::logic_error("two tasks read one request");
  const Interrupt interrupt(*body_, stop, reading_);
  Result<std::string_view> piece = co_await body_->read();
  co_return piece;
}

void Request::send_interim(int status, std::span<const Field> fields) {
  if (status < 102 || status > 199) throw std::invalid_argument("not an interim status");
  Response checked;
  for (const Field& field : fields) checked.add(field.name, field.value);
  if (body_ != nullptr) body_->inform(status, fields);
}

Task<Result<std::string>> Request::read_all(std::size_t bytes_max) {
  return http::read_all(*this, bytes_max, "request body");
}

Response Request::reply_ok_with_file(FileRef file) const {
  if (file == nullptr) throw std::invalid_argument("a response without its file");
  if (!http::has_conditional_fields(head_.fields)) return Response(std::move(file));
  http::ConditionalFields fields = http::find_conditional_fields(head_.fields);
  if (file->last_modified().empty()) {  // RFC 9110, 13.1.3: there is nothing to compare
    fields.preconditions.if_modified_since.reset();
    fields.preconditions.if_unmodified_since.reset();
  }
  const http::Validators validators{file->etag(), file->content().version().modified_s};
  switch (http::evaluate(head_, fields, validators)) {
    case http::PreconditionResult::failed:
      return http::error_response(412);
    case http::PreconditionResult::not_modified:
      return not_modified(*file);
    case http::PreconditionResult::proceed:
      break;
  }
  // RFC 9110, 14.2: Range is defined for GET only.
  if (head_.method != Method::GET || !fields.range ||
      !http::range_applies(fields.preconditions, validators, head_.received_s)) {
    return Response(std::move(file));
  }
  const http::RangeChoice choice = http::choose_range(*fields.range, file->size());
  switch (choice.verdict) {
    case http::RangeVerdict::whole:
      break;
    case http::RangeVerdict::partial:
      return part_of_file(std::move(file), choice.range);
    case http::RangeVerdict::several:
      return http::byteranges_response(std::move(file), choice.parts);
    case http::RangeVerdict::unsatisfiable:
      return unsatisfiable(*file);
  }
  return Response(std::move(file));
}

Response Request::reply_404() const { return http::error_response(404); }

Task<Result<Parameters>> Request::read_form(std::size_t bytes_max) {
  const std::string_view type = field("content-type").value_or("");
  if (!http::equals_ignoring_case(http::trim(type.substr(0, type.find(';'))),
                                  "application/x-www-form-urlencoded")) {
    co_return std::unexpected(Error{EINVAL, "not application/x-www-form-urlencoded"});
  }
  const Result<std::string> text = co_await read_all(bytes_max);
  if (!text) co_return std::unexpected(text.error());
  Parameters parameters(*text);
  if (parameters.truncated()) co_return std::unexpected(Error{EMSGSIZE, "form parameters"});
  co_return std::move(parameters);
}

}  // namespace h2server
