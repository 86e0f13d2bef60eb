// Builds HTTP/2 frames as bytes, and describes bytes as frames, for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/h2/frame.h"

namespace h2server::http::h2 {

inline std::string frame(FrameType type, int flags, std::uint32_t stream,
                         std::string_view payload = {}) {
  std::string bytes(frame_head_bytes, '\0');
  write_frame_head(bytes.data(), {.size = static_cast<std::uint32_t>(payload.size()),
                                  .type = type,
                                  .flags = static_cast<std::uint8_t>(flags),
                                  .stream = stream});
  return bytes.append(payload);
}

inline std::string u32(std::uint32_t value) {
  std::string bytes(4, '\0');
  write_u32(bytes.data(), value);
  return bytes;
}

using SettingsList = std::vector<std::pair<int, std::uint32_t>>;

inline std::string settings_frame(const SettingsList& list = {}) {
  std::string payload;
  for (const auto& [id, value] : list) {
    payload += static_cast<char>(id >> 8);
    payload += static_cast<char>(id);
    payload += u32(value);
  }
  return frame(FrameType::settings, 0, 0, payload);
}
inline std::string settings_ack() { return frame(FrameType::settings, flag::ack, 0); }

// What a client sends first: the preface and SETTINGS.
inline std::string opening(const SettingsList& list = {}) {
  return std::string(preface) + settings_frame(list);
}

// An HPACK string without Huffman coding (RFC 7541, 5.2).
inline std::string hpack_string(std::string_view text) {
  std::string bytes;
  if (text.size() < 127) {
    bytes += static_cast<char>(text.size());
  } else {
    bytes += '\x7f';
    std::size_t rest = text.size() - 127;
    for (; rest >= 128; rest >>= 7) bytes += static_cast<char>(rest | 0x80);
    bytes += static_cast<char>(rest);
  }
  return bytes.append(text);
}

using FieldList = std::vector<std::pair<std::string, std::string>>;

// Encodes the fields without indexing (RFC 7541, 6.2.2): the dynamic table does not change.
inline std::string block(const FieldList& fields) {
  std::string bytes;
  for (const auto& [name, value] : fields) {
    bytes += '\0';
    bytes += hpack_string(name) + hpack_string(value);
  }
  return bytes;
}

// A block with `method`, scheme "http", path "/" and authority "a", followed by `more`.
inline std::string request_block(std::string_view method = "GET", const FieldList& more = {}) {
  FieldList fields = {
      {":method", std::string(method)}, {":scheme", "http"}, {":path", "/"}, {":authority", "a"}};
  fields.insert(fields.end(), more.begin(), more.end());
  return block(fields);
}

inline constexpr int whole = flag::end_stream | flag::end_headers;

inline std::string headers(std::uint32_t stream, std::string_view fields, int flags = whole) {
  return frame(FrameType::headers, flags, stream, fields);
}
inline std::string get(std::uint32_t stream, const FieldList& more = {}) {
  return headers(stream, request_block("GET", more));
}
// Does not end the stream: content follows.
inline std::string post(std::uint32_t stream, const FieldList& more = {}) {
  return headers(stream, request_block("POST", more), flag::end_headers);
}
inline std::string continuation(std::uint32_t stream, std::string_view fields, bool last) {
  return frame(FrameType::continuation, last ? flag::end_headers : 0, stream, fields);
}
inline std::string data(std::uint32_t stream, std::string_view content, bool last = false) {
  return frame(FrameType::data, last ? flag::end_stream : 0, stream, content);
}
inline std::string padded_data(std::uint32_t stream, std::string_view content, std::uint8_t padding,
                               bool last = false) {
  std::string payload(1, static_cast<char>(padding));
  payload.append(content).append(padding, '\0');
  return frame(FrameType::data, flag::padded | (last ? flag::end_stream : 0), stream, payload);
}
inline std::string rst_stream(std::uint32_t stream, ErrorCode code = ErrorCode::cancel) {
  return frame(FrameType::rst_stream, 0, stream, u32(static_cast<std::uint32_t>(code)));
}
inline std::string window_update(std::uint32_t stream, std::uint32_t increment) {
  return frame(FrameType::window_update, 0, stream, u32(increment));
}
inline std::string ping(std::string_view payload = "01234567", int flags = 0) {
  return frame(FrameType::ping, flags, 0, payload);
}
inline std::string goaway(std::uint32_t last = 0, std::string_view more = {}) {
  return frame(FrameType::goaway, 0, 0, u32(last) + u32(0) + std::string(more));
}
inline std::string priority_frame(std::uint32_t stream, std::uint32_t on = 0) {
  return frame(FrameType::priority, 0, stream, u32(on) + '\x10');
}
inline std::string priority_update(std::uint32_t stream, std::string_view value) {
  return frame(FrameType::priority_update, 0, 0, u32(stream) + std::string(value));
}

struct Frame {
  FrameHead head;
  std::string payload;
};

// Splits `bytes` into frames. The last payload may be cut; an incomplete head is ignored.
inline std::vector<Frame> frames_of(std::string_view bytes) {
  std::vector<Frame> all;
  while (bytes.size() >= frame_head_bytes) {
    const FrameHead head = read_frame_head(bytes.data());
    bytes.remove_prefix(frame_head_bytes);
    all.push_back({head, std::string(bytes.substr(0, head.size))});
    bytes.remove_prefix(std::min<std::size_t>(head.size, bytes.size()));
  }
  return all;
}

// Describes frames as text, one word each: "settings", "headers1;" if it ends the stream,
// "reset1=8", "goaway1=0", "window0+5", "data1:3"...
std::string describe(std::string_view bytes);

}  // namespace h2server::http::h2
