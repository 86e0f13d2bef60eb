// Constants of SPDY/3.1, as "SPDY Protocol - Draft 3.1" of the Chromium project defines them. Its
// sections are cited as "SPDY, 2.6.1".
#pragma once

#include <cstddef>
#include <cstdint>

namespace h2server::lab::spdy {

inline constexpr std::uint16_t version = 3;  // of control frames, in 3.1 too

// SPDY, 2.6. A peer may send other types, which are ignored.
enum class FrameType : std::uint16_t {
  syn_stream = 1,
  syn_reply = 2,
  rst_stream = 3,
  settings = 4,
  ping = 6,
  goaway = 7,
  headers = 8,
  window_update = 9,
};

namespace flag {
inline constexpr std::uint8_t fin = 0x1;
inline constexpr std::uint8_t unidirectional = 0x2;  // of SYN_STREAM
inline constexpr std::uint8_t persisted = 0x2;       // of an entry of SETTINGS
}  // namespace flag

// SPDY, 2.6.3: of RST_STREAM.
enum class StreamStatus : std::uint32_t {
  protocol_error = 1,
  invalid_stream = 2,
  refused_stream = 3,
  unsupported_version = 4,
  cancel = 5,
  internal_error = 6,
  flow_control_error = 7,
  stream_in_use = 8,
  stream_already_closed = 9,
  frame_too_large = 11,
};

// SPDY, 2.6.6: of GOAWAY; the last one is of 2.6.8.
enum class SessionStatus : std::uint32_t {
  ok = 0,
  protocol_error = 1,
  internal_error = 2,
  flow_control_error = 7,
};

// SPDY, 2.6.4. The others are advisory.
enum class Setting : std::uint32_t {
  max_concurrent_streams = 4,
  initial_window_size = 7,
};

inline constexpr std::size_t frame_head_bytes = 8;                     // 2.2
inline constexpr std::uint32_t default_window_bytes = 64 * 1024;       // 2.6.8
inline constexpr std::uint32_t largest_window_bytes = 0x7fff'ffff;     // 2.6.8
inline constexpr std::uint32_t largest_stream = 0x7fff'ffff;           // 2.3.2
inline constexpr std::uint32_t smallest_control_bytes_max = 8 * 1024;  // 2.2.1

}  // namespace h2server::lab::spdy
