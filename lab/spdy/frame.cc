#include "spdy/frame.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace h2server::lab::spdy {

namespace {

using http::h2::read_u16;
using http::h2::write_u16;

constexpr std::uint32_t control_bit = 0x8000'0000U;

void write_size(char* to, std::uint8_t flags, std::size_t size) noexcept {
  write_u32(to, std::uint32_t{flags} << 24 | static_cast<std::uint32_t>(size));
}

// Appends a control frame of two integers.
void append_pair(base::BufferChain& out, FrameType type, std::uint32_t first,
                 std::uint32_t second) {
  std::array<char, 8> payload;
  write_u32(payload.data(), first);
  write_u32(payload.data() + 4, second);
  append_control(out, type, 0, {payload.data(), payload.size()});
}

}  // namespace

FrameHead read_frame_head(const char* from) noexcept {
  const std::uint32_t first = read_u32(from);
  const std::uint32_t second = read_u32(from + 4);
  FrameHead head{.is_control = (first & control_bit) != 0,
                 .flags = static_cast<std::uint8_t>(second >> 24),
                 .size = second & 0xff'ffffU};
  if (head.is_control) {
    head.version = static_cast<std::uint16_t>(read_u16(from) & 0x7fffU);
    head.type = static_cast<FrameType>(read_u16(from + 2));
  } else {
    head.stream = first;
  }
  return head;
}

void write_data_head(char* to, std::uint32_t stream, std::uint8_t flags,
                     std::size_t size) noexcept {
  write_u32(to, stream);
  write_size(to + 4, flags, size);
}

void append_control(base::BufferChain& out, FrameType type, std::uint8_t flags,
                    std::string_view fixed, std::string_view block) {
  const std::size_t size = fixed.size() + block.size();
  const std::span<char> head = out.reserve(frame_head_bytes + fixed.size());
  write_u16(head.data(), 0x8000U | version);
  write_u16(head.data() + 2, static_cast<std::uint16_t>(type));
  write_size(head.data() + 4, flags, size);
  std::ranges::copy(fixed, head.data() + frame_head_bytes);
  out.commit(head.size());
  out.append(block);
}

void append_rst_stream(base::BufferChain& out, std::uint32_t stream, StreamStatus status) {
  append_pair(out, FrameType::rst_stream, stream, static_cast<std::uint32_t>(status));
}

void append_ping(base::BufferChain& out, std::uint32_t id) {
  std::array<char, 4> payload;
  write_u32(payload.data(), id);
  append_control(out, FrameType::ping, 0, {payload.data(), payload.size()});
}

void append_goaway(base::BufferChain& out, std::uint32_t last_stream, SessionStatus status) {
  append_pair(out, FrameType::goaway, last_stream, static_cast<std::uint32_t>(status));
}

void append_window_update(base::BufferChain& out, std::uint32_t stream, std::uint32_t delta) {
  append_pair(out, FrameType::window_update, stream, delta);
}

void append_settings(base::BufferChain& out, std::span<const SettingLine> lines) {
  std::string payload(4 + 8 * lines.size(), '\0');
  write_u32(payload.data(), static_cast<std::uint32_t>(lines.size()));
  char* to = payload.data() + 4;
  for (const SettingLine& line : lines) {  // no flags: nothing is to be stored
    write_u32(to, static_cast<std::uint32_t>(line.setting));
    write_u32(to + 4, line.value);
    to += 8;
  }
  append_control(out, FrameType::settings, 0, payload);
}

// Returns `size` contiguous bytes, valid until the next call, or null if they have not all arrived.
const char* FrameReader::take(std::size_t size) {
  if (std::exchange(partial_taken_, false)) std::string().swap(partial_);
  if (partial_.empty() && input_.size() >= size) {
    const char* const first = input_.data();
    input_.remove_prefix(size);
    return first;
  }
  const std::string_view part = input_.substr(0, size - partial_.size());
  partial_.append(part);
  input_.remove_prefix(part.size());
  if (partial_.size() < size) return nullptr;
  partial_taken_ = true;
  return partial_.data();
}

FrameReader::Step FrameReader::next() {
  if (state_ == State::head) {
    if (input_.empty()) return Step::none;
    const char* const bytes = take(frame_head_bytes);
    if (bytes == nullptr) return Step::none;
    head_ = read_frame_head(bytes);
    frames_ = std::max(frames_ + 1, 1U);
    if (head_.is_control && head_.size > control_bytes_max_) return Step::too_large;
    left_ = head_.size;
    state_ = head_.is_control ? State::payload : State::data;
  }
  if (state_ == State::payload) {
    const char* const bytes = take(head_.size);
    if (bytes == nullptr) return Step::none;
    bytes_ = {bytes, head_.size};
    state_ = State::head;
    return Step::control;
  }
  bytes_ = input_.substr(0, left_);
  if (left_ == 0) {
    state_ = State::head;
    return Step::data_end;
  }
  if (bytes_.empty()) return Step::none;
  input_.remove_prefix(bytes_.size());
  left_ -= static_cast<std::uint32_t>(bytes_.size());
  return Step::data;
}

}  // namespace h2server::lab::spdy
