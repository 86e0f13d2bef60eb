// Finds where requests end in a client's bytes. Reads no lines and no fields, except Content-Length
// when HTTP/1.1 requests may have a body. Accepts input in any pieces.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace h2server::lab::floor {

// RFC 9113, 3.4
constexpr std::string_view h2_preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// Flags of frames (RFC 9113, 6).
constexpr std::uint8_t flag_ack = 0x1;
constexpr std::uint8_t flag_end_stream = 0x1;
constexpr std::uint8_t flag_end_headers = 0x4;

// HTTP/1.1: counts the empty lines that end requests. Not for requests with a body: it would count
// the empty line of the head and those in the body.
class H1Framing {
 public:
  // Returns how many requests end in these bytes.
  std::size_t count(std::string_view bytes) noexcept;

 private:
  bool step(char byte) noexcept;

  unsigned matched_ = 0;  // bytes of CRLFCRLF at the end of the input so far
};

// HTTP/1.1 with bodies of the length in Content-Length (RFC 9112, 6.2). No chunked coding.
class H1UploadFraming {
 public:
  // Returns how many requests, including their bodies, end in these bytes.
  std::size_t count(std::string_view bytes);

 private:
  std::string head_;             // of the current request
  std::uint64_t body_left_ = 0;  // bytes of its body still to come
};

// HTTP/2 after the preface: reads frame headers and the payloads that affect a response.
class H2Framing {
 public:
  enum class What {
    nothing,        // the input is used up
    request,        // stream: complete, with its body if it has one (RFC 9113, 8.1)
    data,           // value: bytes that count against the connection's window (6.1)
    reset,          // stream (6.4)
    setting,        // identifier and value (6.5.1)
    settings_end,   // to be acknowledged (6.5.3)
    ping,           // payload, to be acknowledged (6.7)
    window_update,  // stream, value (6.9)
  };
  struct Event {
    What what = What::nothing;
    std::uint32_t stream = 0;
    std::uint16_t identifier = 0;
    std::uint32_t value = 0;
    std::string_view payload;  // eight bytes of PING; valid until the next call
  };

  // Consumes `input` up to the next event.
  Event next(std::string_view& input);

 private:
  enum class State { header, skip, settings, ping, window_update };

  const char* take(std::string_view& input, std::size_t bytes);
  bool read_header(std::string_view& input, Event& event);
  bool read_setting(std::string_view& input, Event& event);
  bool read_unit(std::string_view& input, std::size_t bytes, Event& event);
  bool skip(std::string_view& input, Event& event);

  State state_ = State::header;
  std::uint32_t stream_ = 0;
  std::uint32_t left_ = 0;     // unread bytes of the frame's payload
  bool ends_stream_ = false;   // the current field section has END_STREAM (6.2)
  bool ends_request_ = false;  // the current frame completes a request
  std::uint8_t held_ = 0;      // bytes in part_
  std::array<char, 9> part_{};
};

}  // namespace h2server::lab::floor
