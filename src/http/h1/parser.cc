#include "http/h1/parser.h"

#include <algorithm>
#include <cstring>

#include "http/fields/syntax.h"
#include "http/fields/target.h"
#include "http/message.h"

namespace h2server::http::h1 {

void Parser::reset() noexcept {
  line_start_ = scanned_ = 0;
  lines_.clear();
  host_ = {};
  framing_ = {};
  status_ = 0;
  state_ = State::request_line;
  has_host_ = has_length_ = has_coding_ = is_chunked_ = has_unknown_coding_ = false;
  wants_close_ = wants_keep_alive_ = false;
}

bool Parser::fail(int status) noexcept {
  status_ = status;
  return false;
}

namespace {

// RFC 9112, 3: what is too long is the method, which this server does not know, or the target.
int status_of_long_line(std::string_view beginning) noexcept {
  const bool only_method = std::ranges::all_of(beginning, is_token_character);
  return only_method ? 501 : 414;
}

}  // namespace

Parser::Verdict Parser::parse(std::string_view bytes) {
  for (;;) {
    const std::size_t from = std::max(line_start_, scanned_);
    const void* const found =
        from < bytes.size() ? std::memchr(bytes.data() + from, '\n', bytes.size() - from) : nullptr;
    const std::size_t end =
        found != nullptr ? static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data())
                         : bytes.size();
    const bool first = state_ == State::request_line;
    if (first && end - line_start_ > limits_.request_line_bytes_max) {
      fail(status_of_long_line(bytes.substr(line_start_, limits_.request_line_bytes_max)));
      return Verdict::malformed;
    }
    if (end > limits_.head_bytes_max) {
      fail(431);
      return Verdict::malformed;
    }
    if (found == nullptr) {
      scanned_ = bytes.size();
      return Verdict::need_more;
    }
    // RFC 9112, 2.2 allows accepting a bare LF as a line's end. Other recipients don't, so refuse
    // it.
    if (end == line_start_ || bytes[end - 1] != '\r') {
      fail(400);
      return Verdict::malformed;
    }
    const Part line{static_cast<std::uint32_t>(line_start_),
                    static_cast<std::uint32_t>(end - 1 - line_start_)};
    line_start_ = scanned_ = end + 1;
    if (line.size == 0) {
      // RFC 9112, 2.2: an empty line before the request line is left over from an old client's
      // body.
      if (first && line.offset == 0) continue;
      const bool good = first ? fail(400) : validate();
      return good ? Verdict::complete : Verdict::malformed;
    }
    const bool good = first ? parse_request_line(bytes, line) : parse_field_line(bytes, line);
    if (!good) return Verdict::malformed;
  }
}

// RFC 9112, 3: method SP request-target SP HTTP-version.
bool Parser::parse_request_line(std::string_view bytes, Part line) {
  const std::string_view text = line.of(bytes);
  const std::size_t first = text.find(' ');
  const std::size_t last = text.rfind(' ');
  if (first == std::string_view::npos || first == last) return fail(400);
  method_ = {line.offset, static_cast<std::uint32_t>(first)};
  target_ = {static_cast<std::uint32_t>(line.offset + first + 1),
             static_cast<std::uint32_t>(last - first - 1)};
  const std::string_view method = method_.of(bytes);
  if (!is_token(method)) return fail(400);
  const auto is_visible = [](char c) { return c > 0x20 && c < 0x7f; };
  const std::string_view target = target_.of(bytes);
  if (target.empty() || !std::ranges::all_of(target, is_visible)) return fail(400);
  state_ = State::fields;
  return parse_version(method, text.substr(last + 1));
}

bool Parser::parse_version(std::string_view method, std::string_view text) {
  // Neither an HTTP method nor an HTTP version: an invalid HTTP/2 preface, which gets no response
  // (RFC 9113, 3.4), or another protocol.
  if (parse_method(method) == Method::unknown && !equals_ignoring_case(text.substr(0, 4), "HTTP")) {
    return fail(0);
  }
  if (text.size() != 8 || !text.starts_with("HTTP/") || !base::is_digit(text[5]) ||
      text[6] != '.' || !base::is_digit(text[7])) {
    return fail(400);
  }
  if (text[5] != '1') return fail(505);
  // RFC 9110, 2.5: a higher minor version is treated as the highest known one.
  version_ = text[7] == '0' ? Version::http_1_0 : Version::http_1_1;
  return true;
}

// RFC 9112, 5: field-name ":" OWS field-value OWS. No space before the colon, no folded lines.
bool Parser::parse_field_line(std::string_view bytes, Part line) {
  if (lines_.size() == limits_.fields_max) return fail(431);
  const std::string_view text = line.of(bytes);
  std::size_t colon = 0;
  while (colon < text.size() && is_token_character(text[colon])) ++colon;
  if (colon == 0 || colon == text.size() || text[colon] != ':') return fail(400);
  const std::string_view name = text.substr(0, colon);
  const std::string_view value = trim(text.substr(colon + 1));
  if (!std::ranges::all_of(value, is_field_value_character)) return fail(400);
  const Part value_part{static_cast<std::uint32_t>(value.data() - bytes.data()),
                        static_cast<std::uint32_t>(value.size())};
  lines_.push_back({{line.offset, static_cast<std::uint32_t>(colon)}, value_part});
  return interpret_field(name, value, value_part);
}

// Interprets the fields that frame the message or control the connection.
bool Parser::interpret_field(std::string_view name, std::string_view value, Part value_part) {
  switch (name.size()) {
    case 4:
      return !equals_ignoring_case(name, "host") || interpret_host(value, value_part);
    case 6:
      if (!equals_ignoring_case(name, "expect")) return true;
      return interpret_expect(value);
    case 10:
      return !equals_ignoring_case(name, "connection") || interpret_connection(value);
    case 14:
      return !equals_ignoring_case(name, "content-length") || interpret_content_length(value);
    case 17:
      return !equals_ignoring_case(name, "transfer-encoding") || interpret_transfer_encoding(value);
    default:
      return true;
  }
}

// RFC 9112, 3.2: exactly one Host, empty if the client's URI has no host.
bool Parser::interpret_host(std::string_view value, Part value_part) {
  if (has_host_ || (!value.empty() && !parse_authority(value))) return fail(400);
  has_host_ = true;
  host_ = value_part;
  return true;
}

// RFC 9112, 6.3: two lengths are refused even if they agree, since no correct client sends them.
bool Parser::interpret_content_length(std::string_view value) {
  const std::optional<std::uint64_t> length = parse_decimal(value);
  if (!length || has_length_) return fail(400);
  has_length_ = true;
  framing_.length = *length;
  return true;
}

// RFC 9112, 6.1: a list, possibly in several lines. Chunked must be last and occur once, without
// parameters (7.1). It is the only coding that this server supports.
bool Parser::interpret_transfer_encoding(std::string_view value) {
  has_coding_ = true;
  bool good = true;
  for_each_element(value, [&](std::string_view coding) {
    const std::size_t end = std::min(coding.find(';'), coding.size());
    const std::string_view name = trim(coding.substr(0, end));
    const bool chunked = equals_ignoring_case(name, "chunked");
    if (is_chunked_ || !is_token(name) || (chunked && end < coding.size())) good = false;
    is_chunked_ |= chunked;
    has_unknown_coding_ |= !chunked;
  });
  return good || fail(400);
}

// RFC 9110, 10.1.1: a list. This server supports only 100-continue.
bool Parser::interpret_expect(std::string_view value) {
  bool good = true;
  for_each_element(value, [&](std::string_view expectation) {
    good = good && equals_ignoring_case(expectation, "100-continue");
    framing_.expects_continue = true;
  });
  return good || fail(417);
}

bool Parser::interpret_connection(std::string_view value) {
  for_each_element(value, [this](std::string_view option) {
    wants_close_ |= equals_ignoring_case(option, "close");
    wants_keep_alive_ |= equals_ignoring_case(option, "keep-alive");
  });
  return true;
}

// Derives the framing from the complete head.
bool Parser::validate() {
  const bool old = version_ == Version::http_1_0;
  if (!old && !has_host_) return fail(400);
  // RFC 9112, 6.1: a coding together with a length indicates request smuggling; a coding in
  // HTTP/1.0 is faulty framing.
  if (has_coding_ && (has_length_ || old)) return fail(400);
  if (has_unknown_coding_) return fail(501);
  if (has_coding_ && !is_chunked_) return fail(400);  // an empty list
  if (has_coding_) framing_.body = Framing::Body::chunked;
  if (has_length_ && framing_.length > 0) framing_.body = Framing::Body::length;
  framing_.keep_alive = !wants_close_ && (!old || wants_keep_alive_);
  // RFC 9110, 10.1.1: HTTP/1.0 clients can't expect anything.
  framing_.expects_continue &= !old && framing_.body != Framing::Body::none;
  return true;
}

void Parser::fill(std::string_view bytes, RequestHead& head) const {
  head.method_name = method_.of(bytes);
  head.method = parse_method(head.method_name);
  head.version = version_;
  head.target = target_.of(bytes);
  head.authority = host_.of(bytes);
  if (framing_.body != Framing::Body::chunked) head.content_length = framing_.length;
  for (const Line& line : lines_) head.fields.add(line.name.of(bytes), line.value.of(bytes));
}

}  // namespace h2server::http::h1
