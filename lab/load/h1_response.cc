#include "load/h1_response.h"

#include <algorithm>

#include "http/fields/syntax.h"

namespace h2server::lab::load {

namespace {
constexpr std::string_view line_end = "\r\n";
constexpr std::string_view head_end = "\r\n\r\n";
using http::h1::Framing;
}  // namespace

void H1Response::reset(bool to_head) noexcept {
  state_ = State::head;
  to_head_ = to_head;
  keeps_connection_ = false;
  status_ = 0;
  body_bytes_ = 0;
  head_.clear();
}

H1Response::Verdict H1Response::receive(std::string_view& bytes) {
  // Repeats only after an interim response.
  while (state_ == State::head) {
    if (!take_head(bytes)) {
      return state_ == State::malformed ? Verdict::malformed : Verdict::need_more;
    }
  }
  take_body(bytes);
  switch (state_) {
    case State::complete:
      return Verdict::complete;
    case State::malformed:
      return Verdict::malformed;
    case State::head:
    case State::body:
    case State::until_end:
      break;
  }
  return Verdict::need_more;
}

H1Response::Verdict H1Response::end() noexcept {
  if (state_ == State::until_end) state_ = State::complete;
  return state_ == State::complete ? Verdict::complete : Verdict::malformed;
}

// Returns true if a complete head was parsed. Otherwise takes all bytes or finds them malformed.
bool H1Response::take_head(std::string_view& bytes) {
  std::string_view head = bytes;
  std::size_t from = 0;
  const std::size_t held = head_.size();
  if (held > 0) {
    head_.append(bytes);
    head = head_;
    from = held - std::min(held, head_end.size() - 1);
  }
  const std::size_t end = head.find(head_end, from);
  if (end == std::string_view::npos) {
    if (held == 0) head_.assign(bytes);
    bytes = {};
    if (head_.size() > head_bytes_max) state_ = State::malformed;
    return false;
  }
  const std::size_t size = end + head_end.size();
  bytes.remove_prefix(size - held);
  if (!interpret_head(head.substr(0, end + line_end.size()))) state_ = State::malformed;
  head_.clear();
  return state_ != State::malformed;
}

// Every line of `head` ends with CRLF.
bool H1Response::interpret_head(std::string_view head) {
  std::size_t end = head.find(line_end);
  if (!interpret_status_line(head.substr(0, end))) return false;
  Fields fields;
  for (head.remove_prefix(end + line_end.size()); !head.empty();
       head.remove_prefix(end + line_end.size())) {
    end = head.find(line_end);
    if (!interpret_field(head.substr(0, end), fields)) return false;
  }
  if (fields.chunked && fields.has_length) return false;  // RFC 9112, 6.3
  if (status_ >= 100 && status_ < 200) {
    // 101 would end HTTP on the connection; no request asks for it.
    return status_ != 101 && !fields.chunked && !fields.has_length;
  }
  keeps_connection_ = minor_version_1_ ? !fields.close : fields.keep_alive;
  begin_body(fields);
  return true;
}

// RFC 9112, 4: HTTP-version SP status-code SP [ reason-phrase ]
bool H1Response::interpret_status_line(std::string_view line) {
  if (!line.starts_with("HTTP/1.") || line.size() < 13) return false;
  if (line[7] != '0' && line[7] != '1') return false;
  minor_version_1_ = line[7] == '1';
  const auto status = http::parse_decimal(line.substr(9, 3));
  if (line[8] != ' ' || line[12] != ' ' || !status || *status < 100 || *status > 599) return false;
  status_ = static_cast<int>(*status);
  return std::ranges::all_of(line.substr(13), http::is_field_value_character);
}

bool H1Response::interpret_field(std::string_view line, Fields& fields) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = http::trim(line.substr(colon + 1));
  if (!http::is_token(name)) return false;
  if (!std::ranges::all_of(value, http::is_field_value_character)) return false;
  return interpret_value(name, value, fields);
}

bool H1Response::interpret_value(std::string_view name, std::string_view value, Fields& fields) {
  if (http::equals_ignoring_case(name, "content-length")) {
    const auto length = http::parse_decimal(value);
    if (!length || fields.has_length) return false;
    fields.length = *length;
    fields.has_length = true;
    return true;
  }
  if (http::equals_ignoring_case(name, "transfer-encoding")) {
    // The client sends no TE, so no other coding is allowed.
    if (fields.chunked || !http::equals_ignoring_case(value, "chunked")) return false;
    fields.chunked = true;
    return true;
  }
  if (http::equals_ignoring_case(name, "connection")) {
    http::for_each_element(value, [&fields](std::string_view option) {
      if (http::equals_ignoring_case(option, "close")) fields.close = true;
      if (http::equals_ignoring_case(option, "keep-alive")) fields.keep_alive = true;
    });
  }
  return true;
}

// RFC 9112, 6.3.
void H1Response::begin_body(const Fields& fields) noexcept {
  if (to_head_ || status_ == 204 || status_ == 304 || (fields.has_length && fields.length == 0)) {
    state_ = State::complete;
    return;
  }
  if (!fields.chunked && !fields.has_length) {
    state_ = State::until_end;
    keeps_connection_ = false;
    return;
  }
  decoder_ = http::h1::BodyDecoder(
      {.body = fields.chunked ? Framing::Body::chunked : Framing::Body::length,
       .length = fields.length});
  state_ = State::body;
}

void H1Response::take_body(std::string_view& bytes) noexcept {
  if (state_ == State::until_end) {
    body_bytes_ += bytes.size();
    bytes = {};
    return;
  }
  using Decoded = http::h1::BodyDecoder::Verdict;
  while (state_ == State::body) {
    switch (decoder_.decode(bytes)) {
      case Decoded::need_more:
        return;
      case Decoded::content:
        body_bytes_ += decoder_.content().size();
        break;
      case Decoded::finished:
        state_ = State::complete;
        break;
      case Decoded::malformed:
        state_ = State::malformed;
        break;
    }
  }
}

}  // namespace h2server::lab::load
