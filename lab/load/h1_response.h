// Parser of HTTP/1.1 responses (RFC 9112): a head, then a body by length, chunked or up to the end
// of the connection. Strict, because it checks servers: anything ambiguous is malformed.
//
// Does no I/O and keeps no content, only its size. A head that arrives whole is parsed in place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/h1/body_decoder.h"

namespace h2server::lab::load {

class H1Response {
 public:
  enum class Verdict : std::uint8_t { need_more, complete, malformed };

  // Prepares for the next response. A response to HEAD has no body, whatever its fields say.
  void reset(bool to_head) noexcept;

  // Removes the response's bytes from the front of `bytes`; all of them if it returns need_more.
  Verdict receive(std::string_view& bytes);
  // Handles the end of the connection. Returns complete if the end terminates the body.
  Verdict end() noexcept;

  [[nodiscard]] bool begun() const noexcept { return state_ != State::head || !head_.empty(); }
  // Valid after complete. Interim responses (1xx) are skipped.
  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] std::uint64_t body_bytes() const noexcept { return body_bytes_; }
  // Returns true if another request may follow on the connection (RFC 9112, 9.3).
  [[nodiscard]] bool keeps_connection() const noexcept { return keeps_connection_; }

 private:
  enum class State : std::uint8_t { head, body, until_end, complete, malformed };

  // Fields that frame the message.
  struct Fields {
    std::uint64_t length = 0;
    bool has_length = false;
    bool chunked = false;
    bool close = false;
    bool keep_alive = false;
  };

  static constexpr std::size_t head_bytes_max = 64 * 1024;  // more than any server here sends

  bool take_head(std::string_view& bytes);
  bool interpret_head(std::string_view head);
  bool interpret_status_line(std::string_view line);
  static bool interpret_field(std::string_view line, Fields& fields);
  static bool interpret_value(std::string_view name, std::string_view value, Fields& fields);
  void begin_body(const Fields& fields) noexcept;
  void take_body(std::string_view& bytes) noexcept;

  State state_ = State::head;
  bool to_head_ = false;
  bool keeps_connection_ = false;
  bool minor_version_1_ = false;  // HTTP/1.1, not 1.0
  int status_ = 0;
  std::uint64_t body_bytes_ = 0;
  std::string head_;  // the beginning of a head that arrives in parts
  http::h1::BodyDecoder decoder_{http::h1::Framing{}};
};

}  // namespace h2server::lab::load
