// Frames of SPDY/3.1: their heads and integers, those that carry no fields, and FrameReader, which
// finds the frames in the bytes of a connection. For both ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/memory/buffer_chain.h"
#include "http/h2/frame.h"
#include "spdy/protocol.h"

namespace h2server::lab::spdy {

// Integers have the byte order of HTTP/2.
using http::h2::read_u31;
using http::h2::read_u32;
using http::h2::write_u32;

// SPDY, 2.2.
struct FrameHead {
  bool is_control = false;
  std::uint16_t version = 0;               // of a control frame
  FrameType type = FrameType::syn_stream;  // of a control frame
  std::uint32_t stream = 0;                // of a data frame
  std::uint8_t flags = 0;
  std::uint32_t size = 0;  // of what follows the head, bytes

  [[nodiscard]] bool has(std::uint8_t bits) const noexcept { return (flags & bits) != 0; }
};

// Reads frame_head_bytes bytes.
[[nodiscard]] FrameHead read_frame_head(const char* from) noexcept;
// Writes frame_head_bytes bytes; `size` is below 2^24.
void write_data_head(char* to, std::uint32_t stream, std::uint8_t flags, std::size_t size) noexcept;

// Appends a control frame whose payload is `fixed` and then `block`.
void append_control(base::BufferChain& out, FrameType type, std::uint8_t flags,
                    std::string_view fixed, std::string_view block = {});
void append_rst_stream(base::BufferChain& out, std::uint32_t stream, StreamStatus status);
void append_ping(base::BufferChain& out, std::uint32_t id);
void append_goaway(base::BufferChain& out, std::uint32_t last_stream, SessionStatus status);
void append_window_update(base::BufferChain& out, std::uint32_t stream, std::uint32_t delta);

struct SettingLine {
  Setting setting;
  std::uint32_t value;
};
void append_settings(base::BufferChain& out, std::span<const SettingLine> lines);
// Calls `each` with the entries of a SETTINGS frame that count: of several with the same number the
// first one, and none that the peer has stored for us. Returns false if the payload is malformed.
template <class Each>
[[nodiscard]] bool read_settings(std::string_view payload, Each each);

class FrameReader {
 public:
  // Control frames may have at most so many bytes after their heads.
  explicit FrameReader(std::size_t control_bytes_max) noexcept
      : control_bytes_max_(control_bytes_max) {}

  // Passes received bytes, which must live until next() returns `none`.
  void add(std::string_view bytes) noexcept { input_ = bytes; }

  enum class Step : std::uint8_t {
    none,       // more bytes are needed
    control,    // bytes() is the payload of a control frame
    data,       // bytes() is a part of a data frame, not empty
    data_end,   // the data frame is complete
    too_large,  // a control frame exceeds the limit; the reader can't go on
  };
  [[nodiscard]] Step next();
  // Of the frame that the last step belongs to.
  [[nodiscard]] const FrameHead& head() const noexcept { return head_; }
  // Valid until the next call.
  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }

  // Returns 0, or, if a frame head or a control frame has arrived in part, a number that differs
  // from that of the previous frame.
  [[nodiscard]] std::uint32_t unfinished() const noexcept {
    const bool in_part = state_ == State::payload || !(partial_.empty() || partial_taken_);
    return in_part ? frames_ : 0;
  }

 private:
  enum class State : std::uint8_t { head, payload, data };

  [[nodiscard]] const char* take(std::size_t size);

  const std::size_t control_bytes_max_;
  std::string_view input_;
  std::string_view bytes_;
  std::string partial_;  // start of a frame head or of a control frame's payload
  FrameHead head_;
  std::uint32_t left_ = 0;    // bytes left of a data frame
  std::uint32_t frames_ = 1;  // begun so far; never 0
  State state_ = State::head;
  bool partial_taken_ = false;
};

// SPDY, 2.6.4.
template <class Each>
bool read_settings(std::string_view payload, Each each) {
  constexpr std::size_t entry_bytes = 8;
  constexpr std::uint32_t known = 32;  // numbers from here on are not defined
  if (payload.size() < 4) return false;
  const std::uint64_t count = read_u32(payload.data());
  payload.remove_prefix(4);
  if (count * entry_bytes != payload.size()) return false;
  std::uint32_t seen = 0;
  for (; !payload.empty(); payload.remove_prefix(entry_bytes)) {
    const auto flags = static_cast<std::uint8_t>(payload.front());
    const std::uint32_t number = read_u32(payload.data()) & 0xff'ffffU;
    if ((flags & flag::persisted) != 0 || number >= known) continue;
    if ((seen >> number & 1U) != 0) continue;
    seen |= 1U << number;
    each(static_cast<Setting>(number), read_u32(payload.data() + 4));
  }
  return true;
}

}  // namespace h2server::lab::spdy
