#include "floor/framing.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace h2server::lab::floor {

namespace {

constexpr std::size_t header_bytes = 9;  // RFC 9113, 4.1
constexpr std::size_t setting_bytes = 6;
constexpr std::size_t ping_bytes = 8;
constexpr std::size_t window_update_bytes = 4;

enum FrameType : std::uint8_t {
  data = 0,
  headers = 1,
  rst_stream = 3,
  settings = 4,
  ping = 6,
  window_update = 8,
  continuation = 9,
};

std::uint32_t number(const char* bytes, std::size_t size) noexcept {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  return value;
}

constexpr std::uint32_t reserved_off = 0x7fffffff;

// Returns the value of Content-Length in a head with CRLF line ends, 0 if absent.
std::uint64_t content_length(std::string_view head) noexcept {
  constexpr std::string_view name = "\ncontent-length:";
  const auto same = [](char in_head, char in_name) {
    return (in_head >= 'A' && in_head <= 'Z' ? in_head + ('a' - 'A') : in_head) == in_name;
  };
  const auto found = std::ranges::search(head, name, same);
  const char* at = found.data() + found.size();
  const char* const end = head.data() + head.size();
  while (at != end && *at == ' ') ++at;
  std::uint64_t value = 0;
  std::from_chars(at, end, value);
  return value;
}

}  // namespace

// State machine for "\r\n\r\n".
bool H1Framing::step(char byte) noexcept {
  const bool wanted = byte == (matched_ % 2 == 0 ? '\r' : '\n');
  matched_ = wanted ? matched_ + 1 : byte == '\r' ? 1 : 0;
  if (matched_ < 4) return false;
  matched_ = 0;
  return true;
}

std::size_t H1Framing::count(std::string_view bytes) noexcept {
  std::size_t found = 0;
  std::size_t at = 0;
  while (at < bytes.size() && matched_ > 0) found += step(bytes[at++]);
  // A byte that is neither CR nor LF rules out four positions at once.
  while (at + 4 <= bytes.size()) {
    const char last = bytes[at + 3];
    if (last != '\r' && last != '\n') {
      at += 4;
    } else if (std::memcmp(bytes.data() + at, "\r\n\r\n", 4) == 0) {
      ++found;
      at += 4;
    } else {
      ++at;
    }
  }
  while (at < bytes.size()) found += step(bytes[at++]);
  return found;
}

std::size_t H1UploadFraming::count(std::string_view bytes) {
  constexpr std::string_view head_end = "\r\n\r\n";
  std::size_t found = 0;
  while (!bytes.empty()) {
    if (body_left_ == 0) {
      const std::size_t from = head_.size() - std::min(head_.size(), head_end.size() - 1);
      const std::size_t before = head_.size();
      head_ += bytes;
      const std::size_t end = head_.find(head_end, from);
      if (end == std::string::npos) break;
      head_.resize(end + head_end.size());
      bytes.remove_prefix(head_.size() - before);
      body_left_ = content_length(head_);
      head_.clear();
    }
    const std::uint64_t taken = std::min<std::uint64_t>(body_left_, bytes.size());
    body_left_ -= taken;
    bytes.remove_prefix(taken);
    if (body_left_ == 0) ++found;
  }
  return found;
}

H2Framing::Event H2Framing::next(std::string_view& input) {
  Event event;
  while (event.what == What::nothing) {
    bool more = true;
    switch (state_) {
      case State::header:
        more = read_header(input, event);
        break;
      case State::settings:
        more = read_setting(input, event);
        break;
      case State::ping:
        more = read_unit(input, ping_bytes, event);
        break;
      case State::window_update:
        more = read_unit(input, window_update_bytes, event);
        break;
      case State::skip:
        more = skip(input, event);
        break;
    }
    if (!more) break;
  }
  return event;
}

// Returns the next `bytes` bytes contiguously. Returns null if the input ends before.
const char* H2Framing::take(std::string_view& input, std::size_t bytes) {
  if (held_ == 0 && input.size() >= bytes) {
    const char* const start = input.data();
    input.remove_prefix(bytes);
    return start;
  }
  const std::size_t taken = std::min(bytes - held_, input.size());
  std::memcpy(part_.data() + held_, input.data(), taken);
  input.remove_prefix(taken);
  held_ = static_cast<std::uint8_t>(held_ + taken);
  if (held_ < bytes) return nullptr;
  held_ = 0;
  return part_.data();
}

// Returns false if the input ends within the frame.
bool H2Framing::skip(std::string_view& input, Event& event) {
  const std::size_t taken = std::min<std::size_t>(left_, input.size());
  input.remove_prefix(taken);
  left_ -= static_cast<std::uint32_t>(taken);
  if (left_ > 0) return false;
  state_ = State::header;
  if (ends_request_) {
    event.what = What::request;
    event.stream = stream_;
  }
  return true;
}

bool H2Framing::read_header(std::string_view& input, Event& event) {
  const char* const header = take(input, header_bytes);
  if (header == nullptr) return false;
  left_ = number(header, 3);
  const auto type = static_cast<std::uint8_t>(header[3]);
  const auto flags = static_cast<std::uint8_t>(header[4]);
  stream_ = number(header + 5, 4) & reserved_off;
  state_ = State::skip;
  event.stream = stream_;
  if (type == headers) ends_stream_ = (flags & flag_end_stream) != 0;
  const bool ends_fields =
      (type == headers || type == continuation) && (flags & flag_end_headers) != 0;
  ends_request_ = ends_fields ? ends_stream_ : type == data && (flags & flag_end_stream) != 0;
  if (type == data) {
    event.what = What::data;
    event.value = left_;
    return true;
  }
  if (type == rst_stream) {
    event.what = What::reset;
  } else if (type == settings && (flags & flag_ack) == 0) {
    state_ = State::settings;
  } else if (type == ping && (flags & flag_ack) == 0 && left_ == ping_bytes) {
    state_ = State::ping;
  } else if (type == window_update && left_ == window_update_bytes) {
    state_ = State::window_update;
  }
  return state_ != State::skip || skip(input, event) || event.what != What::nothing;
}

bool H2Framing::read_setting(std::string_view& input, Event& event) {
  if (left_ < setting_bytes) {  // a remainder is a client error; skipped
    state_ = State::skip;
    event.what = What::settings_end;
    if (left_ == 0) state_ = State::header;
    return true;
  }
  const char* const setting = take(input, setting_bytes);
  if (setting == nullptr) return false;
  left_ -= setting_bytes;
  event.what = What::setting;
  event.identifier = static_cast<std::uint16_t>(number(setting, 2));
  event.value = number(setting + 2, 4);
  return true;
}

// Reads a payload that is one unit: PING or WINDOW_UPDATE.
bool H2Framing::read_unit(std::string_view& input, std::size_t bytes, Event& event) {
  const char* const unit = take(input, bytes);
  if (unit == nullptr) return false;
  event.what = state_ == State::ping ? What::ping : What::window_update;
  event.stream = stream_;
  event.value = number(unit, 4) & reserved_off;
  event.payload = {unit, bytes};
  state_ = State::header;
  left_ = 0;
  return true;
}

}  // namespace h2server::lab::floor
