#include "http/h1/body_decoder.h"

#include <algorithm>

#include "http/fields/syntax.h"

namespace h2server::http::h1 {

BodyDecoder::BodyDecoder(const Framing& framing, TrailerSection* trailers,
                         std::size_t trailers_max) noexcept
    : state_(framing.body == Framing::Body::chunked  ? State::size_first
             : framing.body == Framing::Body::length ? State::by_length
                                                     : State::finished),
      left_(framing.length),
      trailers_left_(trailers_max),
      trailers_(trailers) {}

BodyDecoder::Verdict BodyDecoder::decode(std::string_view& bytes) {
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

// Limits a chunk's size to less than 2^60, so that it can't overflow, and to 16 digits, leading
// zeros included.
void BodyDecoder::add_digit(char c) noexcept {
  const int digit = hex_digit(c);
  if (digit < 0 || left_ >> 56 != 0 || ++overhead_ > size_digits_max) {
    state_ = State::malformed;
    return;
  }
  left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
}

// RFC 9112, 7.1: chunk-size [ chunk-ext ] CRLF chunk-data CRLF ... last-chunk trailers CRLF.
void BodyDecoder::step(char c) {
  const auto only = [&](char wanted, State next) {
    state_ = c == wanted ? next : State::malformed;
  };
  switch (state_) {
    case State::size_first:
      left_ = 0;
      overhead_ = 0;
      state_ = State::size;
      add_digit(c);
      return;
    case State::size:
      if (hex_digit(c) >= 0) {
        add_digit(c);
      } else {
        state_ = after_item(c);
      }
      return;
    case State::extension_gap:
    case State::extension_name_first:
    case State::extension_name:
    case State::extension_name_gap:
    case State::extension_value_first:
    case State::extension_value:
    case State::quoted:
    case State::quoted_pair:
    case State::quoted_end:
      state_ = ++overhead_ > overhead_bytes_max ? State::malformed : after_extension_byte(c);
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
    case State::trailer_name:
    case State::trailer:
    case State::trailer_end:
      step_trailer(c);
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

// Returns the state after a byte that follows a chunk's size or a complete extension.
BodyDecoder::State BodyDecoder::after_item(char c) noexcept {
  if (c == '\r') return State::size_end;
  if (c == ';') return State::extension_name_first;
  return base::is_blank(c) ? State::extension_gap : State::malformed;
}

// RFC 9112, 7.1.1: *( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] ). Extensions are
// ignored. Anything outside the grammar, such as a space before the line's end, is refused, since
// another recipient could interpret it differently.
BodyDecoder::State BodyDecoder::after_extension_byte(char c) const noexcept {
  const auto or_space = [&](State next) { return base::is_blank(c) ? state_ : next; };
  switch (state_) {
    case State::extension_gap:
      return or_space(c == ';' ? State::extension_name_first : State::malformed);
    case State::extension_name_first:
      return or_space(is_token_character(c) ? State::extension_name : State::malformed);
    case State::extension_name:
      if (is_token_character(c)) return state_;
      if (base::is_blank(c)) return State::extension_name_gap;
      return c == '=' ? State::extension_value_first : after_item(c);
    case State::extension_name_gap:
      if (c == '=') return State::extension_value_first;
      return or_space(c == ';' ? State::extension_name_first : State::malformed);
    case State::extension_value_first:
      if (c == '"') return State::quoted;
      return or_space(is_token_character(c) ? State::extension_value : State::malformed);
    case State::extension_value:
      return is_token_character(c) ? state_ : after_item(c);
    case State::quoted:  // RFC 9110, 5.6.4
      if (c == '"') return State::quoted_end;
      if (c == '\\') return State::quoted_pair;
      return is_field_value_character(c) ? state_ : State::malformed;
    case State::quoted_pair:
      return is_field_value_character(c) ? State::quoted : State::malformed;
    case State::quoted_end:
      return after_item(c);
    default:
      return State::malformed;
  }
}

// RFC 9112, 7.1.2: *( field-line CRLF ) CRLF, of limited size. Lines have the syntax of a head's.
void BodyDecoder::step_trailer(char c) {
  const State before = state_;
  state_ = ++overhead_ > overhead_bytes_max ? State::malformed : after_trailer_byte(c);
  if (state_ == State::trailer_name && before == State::trailer_start && trailers_left_-- == 0) {
    state_ = State::malformed;
  }
  if (trailers_ == nullptr || state_ == State::malformed) return;
  if (state_ == State::trailer_name || state_ == State::trailer) trailers_->add(c);
  if (before == State::trailer_end) trailers_->end_line();
}

BodyDecoder::State BodyDecoder::after_trailer_byte(char c) const noexcept {
  switch (state_) {
    case State::trailer_start:
      if (c == '\r') return State::last_end;
      return is_token_character(c) ? State::trailer_name : State::malformed;
    case State::trailer_name:
      if (c == ':') return State::trailer;
      return is_token_character(c) ? state_ : State::malformed;
    case State::trailer:
      if (c == '\r') return State::trailer_end;
      return is_field_value_character(c) ? state_ : State::malformed;
    case State::trailer_end:
      return c == '\n' ? State::trailer_start : State::malformed;
    default:
      return State::malformed;
  }
}

}  // namespace h2server::http::h1
