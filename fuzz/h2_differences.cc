#include "h2_differences.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "http/h2/frame.h"

namespace h2server::fuzz {

namespace {

using http::h2::FrameHead;
using http::h2::FrameType;

constexpr auto unknown_type = static_cast<FrameType>(0x20);
constexpr std::uint32_t unknown_setting = 0xff;

class Neutralizer {
 public:
  void treat(char* payload, FrameHead& head);

 private:
  static void treat_settings(char* payload, FrameHead& head);
  static void treat_dependency(char* payload, const FrameHead& head);

  bool acknowledged_ = false;  // our SETTINGS
  std::uint32_t last_stream_ = 0;
  std::set<std::uint32_t> used_;
  std::set<std::uint32_t> ended_;  // by the client
};

// RFC 7540: a stream that depends on itself is an error in both sessions, but libnghttp2 does not
// detect it in HEADERS that it ignores.
void Neutralizer::treat_dependency(char* payload, const FrameHead& head) {
  const std::size_t at = head.has(http::h2::flag::padded) ? 1 : 0;
  if (!head.has(http::h2::flag::priority) || head.size < at + 5) return;
  if (http::h2::read_u31(payload + at) == head.stream) http::h2::write_u32(payload + at, 0);
}

void Neutralizer::treat_settings(char* payload, FrameHead& head) {
  // libnghttp2 treats more than 32 as a flood. The native session limits them by the frame's size.
  constexpr std::uint32_t settings_max = 32;
  if (head.size > settings_max * 6) {
    head.type = unknown_type;
    return;
  }
  for (std::uint32_t at = 0; at + 6 <= head.size; at += 6) {
    const std::uint32_t setting = http::h2::read_u16(payload + at);
    // libnghttp2 checks only the last of several values of a setting.
    for (std::uint32_t before = 0; setting != 1 && before < at; before += 6) {
      if (http::h2::read_u16(payload + before) == setting) {
        http::h2::write_u16(payload + before, unknown_setting);
      }
    }
    // libnghttp2 knows and checks RFC 8441's setting (0x8). A change of RFC 9218's (0x9) MAY be an
    // error (RFC 9218, 2.1).
    if (setting == 0x8 || setting == 0x9) http::h2::write_u16(payload + at, unknown_setting);
  }
}

void Neutralizer::treat(char* payload, FrameHead& head) {
  // libnghttp2 treats frames after END_STREAM as errors until it has forgotten the stream.
  const bool sends = head.type == FrameType::data || head.type == FrameType::headers;
  if (sends && ended_.contains(head.stream)) {
    head.type = unknown_type;
    return;
  }
  if (sends && head.has(http::h2::flag::end_stream)) ended_.insert(head.stream);
  if (head.type == FrameType::rst_stream) ended_.insert(head.stream);
  switch (head.type) {
    case FrameType::settings:
      // Surplus acknowledgements: the native session ignores them, libnghttp2 ends the connection.
      if (head.has(http::h2::flag::ack) && head.size == 0) {
        if (std::exchange(acknowledged_, true)) head.type = unknown_type;
        return;
      }
      treat_settings(payload, head);
      return;
    case FrameType::window_update:
      // RFC 9113, 6.9: a stream error. libnghttp2 ends the connection.
      if (head.size == 4 && head.stream != 0 && http::h2::read_u31(payload) == 0) payload[3] = 1;
      return;
    case FrameType::headers:
      // The native session has forgotten identifiers skipped this long ago and ignores the frame.
      if (head.stream + 126 <= last_stream_) head.type = unknown_type;
      treat_dependency(payload, head);
      used_.insert(head.stream);
      if (head.stream % 2 == 1) last_stream_ = std::max(last_stream_, head.stream);
      return;
    case FrameType::data:
      // RFC 9113, 5.1.1: DATA on a skipped identifier is an error. libnghttp2 cannot detect it.
      if (head.stream < last_stream_ && !used_.contains(head.stream)) head.type = unknown_type;
      // An error on any stream, but libnghttp2 does not check frames that it ignores.
      if (head.size == 0 && head.has(http::h2::flag::padded)) head.type = unknown_type;
      return;
    case FrameType::goaway:
      // RFC 9113, 6.8 does not say which identifiers a client that received no pushes may name.
      if (head.size >= 8) http::h2::write_u32(payload, 0);
      return;
    case FrameType::priority_update:
      // libnghttp2 does not check it unless configured to.
      if (head.stream != 0 || head.size < 4 || http::h2::read_u31(payload) % 2 == 0) {
        head.type = unknown_type;
      }
      return;
    default:
      return;
  }
}

}  // namespace

std::size_t next_cut(std::string_view bytes, std::size_t from) {
  using http::h2::frame_head_bytes;
  std::size_t at = http::h2::preface.size();
  while (at + frame_head_bytes <= bytes.size() && at < from) {
    const FrameHead head = http::h2::read_frame_head(bytes.data() + at);
    const std::size_t end = at + frame_head_bytes;
    if (head.type == FrameType::continuation && from < end) return end;
    at = end + head.size;
  }
  return std::min(from, bytes.size());
}

void neutralize(std::string& bytes) {
  using http::h2::frame_head_bytes;
  std::size_t at = http::h2::preface.size();
  Neutralizer neutralizer;
  std::uint32_t incomplete = 0;  // stream with an incomplete field block
  while (bytes.size() >= at + frame_head_bytes) {
    FrameHead head = http::h2::read_frame_head(bytes.data() + at);
    if (bytes.size() - at - frame_head_bytes < head.size) break;
    neutralizer.treat(bytes.data() + at + frame_head_bytes, head);
    bytes[at + 3] = static_cast<char>(head.type);
    const bool block = head.type == FrameType::headers || head.type == FrameType::continuation;
    if (block) incomplete = head.has(http::h2::flag::end_headers) ? 0 : head.stream;
    at += frame_head_bytes + head.size;
    // After a GOAWAY libnghttp2 ignores its input once no stream is left. The native one goes on.
    if (head.type == FrameType::goaway && head.stream == 0 && head.size >= 8) break;
  }
  if (at < bytes.size()) bytes.resize(at);
  if (incomplete == 0) return;
  std::array<char, frame_head_bytes> end;
  http::h2::write_frame_head(end.data(), {.type = FrameType::continuation,
                                          .flags = http::h2::flag::end_headers,
                                          .stream = incomplete});
  bytes.append(end.data(), end.size());
}

}  // namespace h2server::fuzz
