#include "floor/session.h"

#include <algorithm>
#include <cstring>

namespace h2server::lab::floor {

namespace {

constexpr std::uint8_t type_settings = 4;
constexpr std::uint8_t type_ping = 6;
constexpr std::uint8_t type_window_update = 8;
constexpr std::uint16_t max_concurrent_streams = 0x3;  // RFC 9113, 6.5.2
constexpr std::uint16_t initial_window_size = 0x4;

constexpr std::uint32_t window_max = 0x7fffffff;  // 6.9.1
constexpr std::uint32_t default_window = 65'535;  // 6.9.2

void append(std::string& frames, const FrameHeader& header, std::string_view payload) {
  frames.append(header.data(), header.size());
  frames += payload;
}

// Appends WINDOW_UPDATE (6.9) for the connection.
void append_window(std::string& frames, std::uint32_t bytes) {
  const char payload[] = {static_cast<char>(bytes >> 24), static_cast<char>(bytes >> 16),
                          static_cast<char>(bytes >> 8), static_cast<char>(bytes)};
  append(frames, frame_header(sizeof payload, type_window_update, 0, 0), {payload, sizeof payload});
}

}  // namespace

// --- HTTP/1.1 ---------------------------------------------------------------------------------

void H1Session::receive(std::string_view bytes) {
  const std::size_t requests =
      answers_.uploads() ? upload_framing_.count(bytes) : framing_.count(bytes);
  if (requests == 0 || finished_) return;
  finished_ = answers_.close();
  left_ += (finished_ ? 1 : requests) * answers_.h1_bytes();
}

void H1Session::fill(Output& output, const FillLimits& limits) {
  const std::string_view responses = answers_.h1();
  while (left_ > 0 && output.bytes() < limits.bytes_max) {
    const std::size_t part = std::min<std::uint64_t>(
        {left_, responses.size() - place_, limits.bytes_max - output.bytes()});
    output.refer(responses.substr(place_, part));
    left_ -= part;
    place_ = (place_ + part) % answers_.h1_bytes();
  }
}

// --- HTTP/2 -----------------------------------------------------------------------------------

H2Session::H2Session(const Answers& answers) : answers_(answers) {
  // A million streams and the largest windows, so that uploads never wait.
  constexpr std::string_view many("\x00\x03\x00\x10\x00\x00\x00\x04\x7f\xff\xff\xff", 12);
  static_assert(many[1] == max_concurrent_streams && many[7] == initial_window_size);
  append(control_, frame_header(many.size(), type_settings, 0, 0), many);
  append_window(control_, window_max - default_window);
}

void H2Session::receive(std::string_view bytes) {
  using What = H2Framing::What;
  while (true) {
    const H2Framing::Event event = framing_.next(bytes);
    switch (event.what) {
      case What::nothing:
        return;
      case What::request:
        streams_.push_back({.number = event.stream, .window = initial_window_});
        break;
      case What::data:
        count_received(event.value);
        break;
      case What::reset:
        std::erase_if(streams_, [&](const Stream& one) { return one.number == event.stream; });
        break;
      case What::setting:
        change_setting(event.identifier, event.value);
        break;
      case What::settings_end:
        append(control_, frame_header(0, type_settings, flag_ack, 0), {});
        break;
      case What::ping:
        append(control_, frame_header(event.payload.size(), type_ping, flag_ack, 0), event.payload);
        break;
      case What::window_update:
        change_window(event.stream, event.value);
        break;
    }
  }
}

void H2Session::count_received(std::uint32_t bytes) {
  received_ += bytes;
  if (received_ < window_max / 2) return;
  append_window(control_, received_);
  received_ = 0;
}

// An unknown stream was answered completely, so its window does not matter.
void H2Session::change_window(std::uint32_t stream, std::uint32_t increment) {
  if (stream == 0) {
    window_ += increment;
    return;
  }
  const auto found = std::ranges::find(streams_, stream, &Stream::number);
  if (found != streams_.end()) found->window += increment;
}

// RFC 9113, 6.9.2: a new initial size also changes the windows of open streams.
void H2Session::change_setting(std::uint16_t identifier, std::uint32_t value) {
  if (identifier != initial_window_size) return;
  const std::int64_t change = std::int64_t{value} - initial_window_;
  initial_window_ = value;
  for (Stream& stream : streams_) stream.window += change;
}

void H2Session::fill(Output& output, const FillLimits& limits) {
  if (!control_.empty()) {
    output.copy(control_);
    control_.clear();
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    Stream& stream = streams_[i];
    if (output.bytes() < limits.bytes_max && answer(stream, output, limits)) continue;
    streams_[kept++] = stream;
  }
  streams_.resize(kept, Stream{.number = 0, .window = 0});
}

// Writes as much of the response as limits and windows permit. Returns true if all is written.
bool H2Session::answer(Stream& stream, Output& output, const FillLimits& limits) {
  const std::string_view body = answers_.body();
  const auto whole = static_cast<std::int64_t>(body.size());
  if (answers_.h2_is_whole() && !stream.begun && whole <= stream.window && whole <= window_) {
    answers_.write_h2(output.room(answers_.h2_bytes()), stream.number);
    window_ -= whole;
    return true;
  }
  if (!stream.begun) {
    answers_.write_h2_headers(output.room(answers_.h2_headers_bytes()), stream.number);
    stream.begun = true;
  }
  while (stream.sent < body.size() && output.bytes() < limits.bytes_max) {
    const std::int64_t open = std::min(stream.window, window_);
    if (open <= 0) return false;
    const std::size_t bytes =
        std::min({body.size() - stream.sent, h2_frame_bytes_max, static_cast<std::size_t>(open)});
    const std::string_view part = body.substr(stream.sent, bytes);
    stream.sent += bytes;
    stream.window -= static_cast<std::int64_t>(bytes);
    window_ -= static_cast<std::int64_t>(bytes);
    const FrameHeader header = data_header(bytes, stream.sent == body.size(), stream.number);
    output.copy({header.data(), header.size()});
    if (limits.refer_to_body) {
      output.refer(part);
    } else {
      output.copy(part);
    }
  }
  return stream.sent == body.size();
}

// --- either -----------------------------------------------------------------------------------

void Session::receive(std::string_view bytes) {
  if (protocol_ == Protocol::unknown) bytes = find_out(bytes);
  switch (protocol_) {
    case Protocol::unknown:
      return;
    case Protocol::h1:
      return h1_.receive(bytes);
    case Protocol::h2:
      return h2_->receive(bytes);
  }
}

// Detects the protocol. Returns the bytes after the preface, or all of `bytes` if it is HTTP/1.1.
std::string_view Session::find_out(std::string_view bytes) {
  const std::string_view expected = h2_preface.substr(matched_, bytes.size());
  if (!bytes.starts_with(expected)) {
    protocol_ = Protocol::h1;
    h1_.receive(h2_preface.substr(0, matched_));
    return bytes;
  }
  matched_ += expected.size();
  if (matched_ == h2_preface.size()) {
    protocol_ = Protocol::h2;
    h2_.emplace(answers_);
  }
  return bytes.substr(expected.size());
}

void Session::fill(Output& output, const FillLimits& limits) {
  switch (protocol_) {
    case Protocol::unknown:
      return;
    case Protocol::h1:
      return h1_.fill(output, limits);
    case Protocol::h2:
      return h2_->fill(output, limits);
  }
}

}  // namespace h2server::lab::floor
