#include "http/h1/body_decoder.h"

#include <algorithm>

#include "http/syntax.h"

namespace h2server::http::h1 {

BodyDecoder::BodyDecoder(const Framing& framing) noexcept
    : state_(framing.body == Framing::Body::chunked  ? State::size_first
             : framing.body == Framing::Body::length ? State::by_length
                                                     : State::finished),
      left_(framing.length) {}

BodyDecoder::Verdict BodyDecoder::decode(std::string_view& bytes) noexcept {
  for (;;) {
    if (state_ == State::finished) return Verdict::finished;
    if (state_ == State::malformed) return Verdict::malformed;
    if (bytes.empty()) return Verdict::need_more;
    if (state_ == State::by_length || state_ == State::data) {
      content_ =
          bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size())));
      bytes.remove_prefix(content_.size());
      left_ -= content_.size();
      if (left_ == 0) {
        state_ = state_ == State::by_length ? State::finished : State::data_end_cr;
      }
      return Verdict::content;
    }
    const char c = bytes.front();
    bytes.remove_prefix(1);
    step(c);
  }
}

// 16 digits would overflow with a seventeenth; no chunk has even 2^60 bytes. Zeros are digits too,
// so that they don't go on for ever.
void BodyDecoder::add_digit(char c) noexcept {
  const int digit = hex_digit(c);
  if (digit < 0 || left_ >> 56 != 0 || ++overhead_ > size_digits_max) {
    state_ = State::malformed;
    return;
  }
  left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
}

// RFC 9112, 7.1: chunk-size [ chunk-ext ] CRLF chunk-data CRLF ... last-chunk trailers CRLF.
void BodyDecoder::step(char c) noexcept {
  const auto only = [&](char wanted, State next) {
    state_ = c == wanted ? next : State::malformed;
  };
  // Bytes that are not content go on up to `end`, and not for ever.
  const auto overhead = [&](State going_on, bool valid, char end, State next) {
    if (c == end) {
      state_ = next;
    } else {
      state_ = valid && ++overhead_ <= overhead_bytes_max ? going_on : State::malformed;
    }
  };
  switch (state_) {
    case State::size_first:
      left_ = 0;
      overhead_ = 0;
      state_ = State::size;
      add_digit(c);
      return;
    case State::size:
      if (c == '\r') {
        state_ = State::size_end;
      } else if (c == ';' || c == ' ' || c == '\t') {
        state_ = State::extension;
      } else {
        add_digit(c);
      }
      return;
    case State::extension:
      // Extensions mean nothing to us; what could be taken for a line's end is refused.
      overhead(State::extension, is_field_value_character(c), '\r', State::size_end);
      return;
    case State::size_end:
      overhead_ = 0;
      only('\n', left_ > 0 ? State::data : State::trailer_start);
      return;
    case State::data_end_cr:
      only('\r', State::data_end_lf);
      return;
    case State::data_end_lf:
      only('\n', State::size_first);
      return;
    case State::trailer_start:
      overhead(State::trailer_name, is_token_character(c), '\r', State::last_end);
      return;
    case State::trailer_name:
      overhead(State::trailer_name, is_token_character(c), ':', State::trailer);
      return;
    case State::trailer:
      overhead(State::trailer, is_field_value_character(c), '\r', State::trailer_end);
      return;
    case State::trailer_end:
      only('\n', State::trailer_start);
      return;
    case State::last_end:
      only('\n', State::finished);
      return;
    case State::by_length:
    case State::data:
    case State::finished:
    case State::malformed:
      return;
  }
}

}  // namespace h2server::http::h1
