// Constants of HTTP/2 (RFC 9113, RFC 9218).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace h2server::http::h2 {

inline constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";  // RFC 9113, 3.4

// RFC 9113, 7.
enum class ErrorCode : std::uint32_t {
  no_error = 0x0,
  protocol_error = 0x1,
  internal_error = 0x2,
  flow_control_error = 0x3,
  settings_timeout = 0x4,
  stream_closed = 0x5,
  frame_size_error = 0x6,
  refused_stream = 0x7,
  cancel = 0x8,
  compression_error = 0x9,
  connect_error = 0xa,
  enhance_your_calm = 0xb,
  inadequate_security = 0xc,
  http_1_1_required = 0xd,
};

// RFC 9113, 6; PRIORITY_UPDATE: RFC 9218, 7.1. A peer may send other types, which are ignored.
enum class FrameType : std::uint8_t {
  data = 0x0,
  headers = 0x1,
  priority = 0x2,
  rst_stream = 0x3,
  settings = 0x4,
  push_promise = 0x5,
  ping = 0x6,
  goaway = 0x7,
  window_update = 0x8,
  continuation = 0x9,
  priority_update = 0x10,
};

namespace flag {
inline constexpr std::uint8_t end_stream = 0x1;
inline constexpr std::uint8_t ack = 0x1;
inline constexpr std::uint8_t end_headers = 0x4;
inline constexpr std::uint8_t padded = 0x8;
inline constexpr std::uint8_t priority = 0x20;
}  // namespace flag

// RFC 9113, 6.5.2; no_rfc7540_priorities: RFC 9218, 2.1.
enum class Setting : std::uint16_t {
  header_table_size = 0x1,
  enable_push = 0x2,
  max_concurrent_streams = 0x3,
  initial_window_size = 0x4,
  max_frame_size = 0x5,
  max_header_list_size = 0x6,
  no_rfc7540_priorities = 0x9,
};

inline constexpr std::size_t frame_head_bytes = 9;               // RFC 9113, 4.1
inline constexpr std::uint32_t default_frame_bytes = 16 * 1024;  // 4.2: the smallest valid limit
inline constexpr std::uint32_t largest_frame_bytes = 0xff'ffff;  // 4.2
inline constexpr std::uint32_t default_window_bytes = 64 * 1024 - 1;  // 6.9.2
inline constexpr std::uint32_t largest_window_bytes = 0x7fff'ffff;    // 6.9.1
inline constexpr std::uint32_t largest_stream = 0x7fff'ffff;          // 5.1.1
inline constexpr std::size_t field_overhead_bytes = 32;  // 6.5.2: counted for each field

}  // namespace h2server::http::h2
