// Wire format of frame heads, and of the integers in payloads (RFC 9113, 4.1).
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "http/h2/protocol.h"

namespace h2server::http::h2 {

struct FrameHead {
  std::uint32_t size = 0;  // of the payload, bytes
  FrameType type = FrameType::data;
  std::uint8_t flags = 0;
  std::uint32_t stream = 0;  // 0: the connection

  [[nodiscard]] bool has(std::uint8_t bits) const noexcept { return (flags & bits) != 0; }
};

[[nodiscard]] inline std::uint32_t read_u16(const char* from) noexcept {
  const auto byte = [from](int i) { return std::uint32_t{static_cast<unsigned char>(from[i])}; };
  return byte(0) << 8 | byte(1);
}

[[nodiscard]] inline std::uint32_t read_u32(const char* from) noexcept {
  return read_u16(from) << 16 | read_u16(from + 2);
}

// Drops the reserved bit of stream identifiers and of window increments.
[[nodiscard]] inline std::uint32_t read_u31(const char* from) noexcept {
  return read_u32(from) & 0x7fff'ffffU;
}

inline void write_u16(char* to, std::uint32_t value) noexcept {
  to[0] = static_cast<char>(value >> 8);
  to[1] = static_cast<char>(value);
}

inline void write_u32(char* to, std::uint32_t value) noexcept {
  write_u16(to, value >> 16);
  write_u16(to + 2, value);
}

// Reads frame_head_bytes bytes.
[[nodiscard]] inline FrameHead read_frame_head(const char* from) noexcept {
  return {.size = read_u16(from) << 8 | static_cast<unsigned char>(from[2]),
          .type = static_cast<FrameType>(from[3]),
          .flags = static_cast<std::uint8_t>(from[4]),
          .stream = read_u31(from + 5)};
}

// Writes frame_head_bytes bytes.
inline void write_frame_head(char* to, const FrameHead& head) noexcept {
  write_u16(to, head.size >> 8);
  to[2] = static_cast<char>(head.size);
  to[3] = static_cast<char>(head.type);
  to[4] = static_cast<char>(head.flags);
  write_u32(to + 5, head.stream);
}

}  // namespace h2server::http::h2
