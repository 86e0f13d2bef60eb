#include <cerrno>
#include <utility>

#include "content/uploads/receive/multipart.h"
#include "h2server/multipart.h"
#include "http/read_all.h"

namespace h2server {

using ParserEvent = content::MultipartParser::Event;

struct MultipartReader::State {
  Request& request;
  MultipartLimits limits;
  std::optional<content::MultipartParser> parser = {};  // unset if the media type is another one
  std::optional<Error> failure = {};
  std::size_t parts = 0;
  bool in_part = false;
  bool finished = false;

  std::unexpected<Error> fail(int code, std::string_view what) {
    failure = Error{code, what};
    return std::unexpected(*failure);
  }
  // Returns the next event, which is neither need_more nor malformed. Not called after a failure.
  Task<Result<ParserEvent>> next_event();
  Result<ParserEvent> take(ParserEvent event);
};

Task<Result<ParserEvent>> MultipartReader::State::next_event() {
  for (;;) {
    const ParserEvent event = parser->next();
    if (event != ParserEvent::need_more) co_return take(event);
    const Result<std::string_view> piece = co_await request.read();
    if (!piece) co_return fail(piece.error().code, piece.error().what);
    if (piece->empty()) co_return fail(EPROTO, "the body ends before its closing boundary");
    parser->feed(*piece);
  }
}

Result<ParserEvent> MultipartReader::State::take(ParserEvent event) {
  switch (event) {
    case ParserEvent::need_more:
    case ParserEvent::data:
      break;
    case ParserEvent::part_begin:
      if (parts == limits.parts_max) return fail(EMSGSIZE, "too many parts");
      ++parts;
      in_part = true;
      break;
    case ParserEvent::part_end:
      in_part = false;
      break;
    case ParserEvent::finished:
      finished = true;
      break;
    case ParserEvent::malformed:
      return fail(parser->exceeds_limit() ? EMSGSIZE : EPROTO, parser->problem());
  }
  return event;
}

MultipartReader::MultipartReader(Request& request, MultipartLimits limits)
    : state_(std::make_unique<State>(request, limits)) {
  std::optional<std::string> boundary =
      content::multipart_boundary(request.field("content-type").value_or(""));
  if (boundary) {
    state_->parser.emplace(*std::move(boundary), limits);
  } else {
    state_->failure = Error{EINVAL, "not multipart/form-data with a boundary"};
  }
}

MultipartReader::~MultipartReader() = default;

Task<Result<std::optional<FormPart>>> MultipartReader::next_part() {
  while (!state_->failure && !state_->finished) {
    const Result<ParserEvent> event = co_await state_->next_event();
    if (event == ParserEvent::part_begin) co_return std::optional<FormPart>(state_->parser->part());
  }
  if (state_->failure) co_return std::unexpected(*state_->failure);
  co_return std::optional<FormPart>();
}

Task<Result<std::string_view>> MultipartReader::read() {
  if (state_->failure) co_return std::unexpected(*state_->failure);
  if (!state_->in_part) co_return std::string_view();
  const Result<ParserEvent> event = co_await state_->next_event();
  if (!event) co_return std::unexpected(event.error());
  co_return *event == ParserEvent::data ? state_->parser->data() : std::string_view();
}

Task<Result<std::string>> MultipartReader::read_all(std::size_t bytes_max) {
  return http::read_all(*this, bytes_max, "content of a part");
}

}  // namespace h2server
