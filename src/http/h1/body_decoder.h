// Decodes a request's body, by length or chunked (RFC 9112, 6 and 7). Content is not copied; only
// trailer fields are, to a TrailerSection.
#pragma once

#include <cstdint>
#include <string_view>

#include "h2server/limits.h"
#include "http/h1/parser.h"
#include "http/h1/trailer_section.h"

namespace h2server::http::h1 {

class BodyDecoder {
 public:
  enum class Verdict { need_more, content, finished, malformed };

  // `trailers` must outlive the decoder, and is complete when the decoder is finished. If it is
  // null, trailer fields are checked and dropped. More than `trailers_max` lines are malformed.
  explicit BodyDecoder(const Framing& framing, TrailerSection* trailers = nullptr,
                       std::size_t trailers_max = Limits().fields_max) noexcept;

  // Removes what it decodes from the front of `bytes`. `content`: content() is the next piece, a
  // view into `bytes`; call again. `need_more`: all of `bytes` has been consumed.
  Verdict decode(std::string_view& bytes);

  [[nodiscard]] std::string_view content() const noexcept { return content_; }
  [[nodiscard]] bool finished() const noexcept { return state_ == State::finished; }
  // Bytes not decoded yet, of a body by length.
  [[nodiscard]] std::uint64_t left() const noexcept { return left_; }

 private:
  enum class State : std::uint8_t {
    by_length,
    size_first,  // expects a digit
    size,
    extension_gap,         // after a space: expects ';'
    extension_name_first,  // after ';'
    extension_name,
    extension_name_gap,     // after a space: expects '=' or ';'
    extension_value_first,  // after '='
    extension_value,
    quoted,
    quoted_pair,  // after a backslash
    quoted_end,   // after the second quote
    size_end,     // LF
    data,
    data_end_cr,
    data_end_lf,
    trailer_start,  // of a line
    trailer_name,
    trailer,
    trailer_end,  // LF of a trailer line
    last_end,     // LF of the empty line
    finished,
    malformed,
  };

  static constexpr std::size_t overhead_bytes_max = 16 * 1024;  // of chunk extensions or trailers
  static constexpr std::size_t size_digits_max = 16;

  // Consumes one byte that is not content.
  void step(char c);
  void add_digit(char c) noexcept;
  [[nodiscard]] static State after_item(char c) noexcept;
  [[nodiscard]] State after_extension_byte(char c) const noexcept;
  void step_trailer(char c);
  [[nodiscard]] State after_trailer_byte(char c) const noexcept;

  State state_;
  std::uint64_t left_ = 0;     // bytes of the body or of the chunk
  std::size_t overhead_ = 0;   // bytes of the chunk's size and extensions, or of the trailers
  std::size_t trailers_left_;  // lines that may still come
  TrailerSection* trailers_;
  std::string_view content_;
};

}  // namespace h2server::http::h1
