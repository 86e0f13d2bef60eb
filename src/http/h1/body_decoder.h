// Decoder of a request's body: by length or chunked (RFC 9112, 6 and 7). Finds the content in the
// bytes that arrive; copies and holds nothing.
#pragma once

#include <cstdint>
#include <string_view>

#include "http/h1/parser.h"

namespace h2server::http::h1 {

class BodyDecoder {
 public:
  enum class Verdict { need_more, content, finished, malformed };

  explicit BodyDecoder(const Framing& framing) noexcept;

  // Takes what it understands off the front of `bytes`. `content`: content() is the next piece, a
  // view into `bytes`; call again. `need_more`: all of `bytes` is taken.
  Verdict decode(std::string_view& bytes) noexcept;

  [[nodiscard]] std::string_view content() const noexcept { return content_; }
  [[nodiscard]] bool finished() const noexcept { return state_ == State::finished; }
  // Of a body by length: what has not been decoded yet.
  [[nodiscard]] std::uint64_t left() const noexcept { return left_; }

 private:
  enum class State : std::uint8_t {
    by_length,
    size_first,  // a digit must come
    size,
    extension,
    size_end,  // LF
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

  static constexpr std::size_t overhead_bytes_max = 16 * 1024;  // of one extension, or all trailers
  static constexpr std::size_t size_digits_max = 16;

  // Takes one byte of the coding's own.
  void step(char c) noexcept;
  void add_digit(char c) noexcept;

  State state_;
  std::uint64_t left_ = 0;    // of the body, or of the chunk
  std::size_t overhead_ = 0;  // bytes of the chunk's size and extension, or of the trailers
  std::string_view content_;
};

}  // namespace h2server::http::h1
