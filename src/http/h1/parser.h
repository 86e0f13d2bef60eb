// Parses a request's head (RFC 9112, 2 to 6). Strict: refuses what two servers could interpret
// differently. Works line by line, so no line is parsed twice however the head arrives. Allocates
// only when its list of fields grows.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "h2server/limits.h"
#include "h2server/message.h"

namespace h2server::http::h1 {

// What the head says about the body and the connection.
struct Framing {
  enum class Body : std::uint8_t { none, length, chunked };
  Body body = Body::none;
  std::uint64_t length = 0;  // bytes
  bool keep_alive = true;    // what the client wants (RFC 9112, 9.3)
  bool expects_continue = false;
};

class Parser {
 public:
  enum class Verdict { need_more, complete, malformed };

  explicit Parser(const Limits& limits) noexcept : limits_(limits) {}

  // Prepares for the next head.
  void reset() noexcept;

  // `bytes` begins with the head. After need_more, pass the same bytes and more, at any address.
  Verdict parse(std::string_view bytes);

  // After malformed: 400, 414, 417, 431, 501 or 505. 0 if the bytes are not HTTP at all, so that an
  // HTTP response would be useless.
  [[nodiscard]] int status() const noexcept { return status_; }
  // After complete: the size of the head with its empty line, in bytes.
  [[nodiscard]] std::size_t head_size() const noexcept { return line_start_; }
  [[nodiscard]] const Framing& framing() const noexcept { return framing_; }
  // After complete: fills `head` with views into `bytes`, which must equal the bytes parsed.
  void fill(std::string_view bytes, RequestHead& head) const;

 private:
  enum class State : std::uint8_t { request_line, fields };
  // An offset, since the bytes may move while the head arrives.
  struct Part {
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
    [[nodiscard]] std::string_view of(std::string_view bytes) const {
      return bytes.substr(offset, size);
    }
  };
  struct Line {
    Part name;
    Part value;
  };

  bool fail(int status) noexcept;
  bool parse_request_line(std::string_view bytes, Part line);
  bool parse_version(std::string_view method, std::string_view text);
  bool parse_field_line(std::string_view bytes, Part line);
  bool interpret_field(std::string_view name, std::string_view value, Part value_part);
  bool interpret_host(std::string_view value, Part value_part);
  bool interpret_content_length(std::string_view value);
  bool interpret_transfer_encoding(std::string_view value);
  bool interpret_expect(std::string_view value);
  bool interpret_connection(std::string_view value);
  bool validate();

  const Limits& limits_;
  std::size_t line_start_ = 0;
  std::size_t scanned_ = 0;  // no LF from line_start_ up to here
  std::vector<Line> lines_;
  Part method_;
  Part target_;
  Part host_;
  Framing framing_;
  int status_ = 0;
  State state_ = State::request_line;
  Version version_ = Version::http_1_1;
  bool has_host_ = false;
  bool has_length_ = false;
  bool has_coding_ = false;  // any Transfer-Encoding, even an empty one
  bool is_chunked_ = false;
  bool has_unknown_coding_ = false;
  bool wants_close_ = false;
  bool wants_keep_alive_ = false;
};

}  // namespace h2server::http::h1
