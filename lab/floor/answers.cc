#include "floor/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "floor/framing.h"

namespace h2server::lab::floor {

namespace {

constexpr std::size_t h1_bytes_wanted = 64 * 1024;  // of repeated responses: a large pipeline's
constexpr std::size_t whole_bytes_max = 64 * 1024;  // largest body that is copied

constexpr std::uint8_t type_data = 0;
constexpr std::uint8_t type_headers = 1;

void write_number(char* to, std::uint32_t value) noexcept {
  to[0] = static_cast<char>(value >> 24);
  to[1] = static_cast<char>(value >> 16);
  to[2] = static_cast<char>(value >> 8);
  to[3] = static_cast<char>(value);
}

std::string_view bytes_of(const FrameHeader& header) noexcept {
  return {header.data(), header.size()};
}

// RFC 7541: :status from the static table (200: 8, 404: 13), then content-type (31) and
// content-length (28) as literals without indexing (6.2.2).
std::string field_section(std::size_t body_bytes, bool found) {
  constexpr std::string_view type = "text/html";
  const std::string length = std::to_string(body_bytes);
  std::string section = found ? "\x88\x0f\x10" : "\x8d\x0f\x10";
  section += static_cast<char>(type.size());
  section += type;
  section += "\x0f\x0d";
  section += static_cast<char>(length.size());
  section += length;
  return section;
}

}  // namespace

FrameHeader frame_header(std::size_t payload_bytes, std::uint8_t type, std::uint8_t flags,
                         std::uint32_t stream) noexcept {
  FrameHeader header{static_cast<char>(payload_bytes >> 16), static_cast<char>(payload_bytes >> 8),
                     static_cast<char>(payload_bytes), static_cast<char>(type),
                     static_cast<char>(flags)};
  write_number(header.data() + 5, stream);
  return header;
}

FrameHeader data_header(std::size_t payload_bytes, bool last, std::uint32_t stream) noexcept {
  return frame_header(payload_bytes, type_data, last ? flag_end_stream : 0, stream);
}

Answers::Answers(std::string body, AnswerOptions options)
    : body_(std::move(body)), options_(options), whole_(body_.size() <= whole_bytes_max) {
  const std::string h1 =
      fmt::format("HTTP/1.1 {}\r\nContent-Type: text/html\r\nContent-Length: {}\r\n{}\r\n",
                  options_.found ? "200 OK" : "404 Not Found", body_.size(),
                  options_.close ? "Connection: close\r\n" : "") +
      body_;
  h1_bytes_ = h1.size();
  do h1_ += h1;
  while (h1_.size() + h1_bytes_ <= h1_bytes_wanted);

  const std::string section = field_section(body_.size(), options_.found);
  const auto flags =
      static_cast<std::uint8_t>(flag_end_headers | (body_.empty() ? flag_end_stream : 0));
  stream_places_.push_back(5);
  h2_ += bytes_of(frame_header(section.size(), type_headers, flags, 0));
  h2_ += section;
  headers_bytes_ = h2_.size();
  if (!whole_) return;
  for (std::string_view rest = body_; !rest.empty();) {
    const std::string_view part = rest.substr(0, h2_frame_bytes_max);
    rest.remove_prefix(part.size());
    stream_places_.push_back(h2_.size() + 5);
    h2_ += bytes_of(data_header(part.size(), rest.empty(), 0));
    h2_ += part;
  }
}

void Answers::write_h2(char* to, std::uint32_t stream) const noexcept {
  std::memcpy(to, h2_.data(), h2_.size());
  for (const std::size_t place : stream_places_) write_number(to + place, stream);
}

void Answers::write_h2_headers(char* to, std::uint32_t stream) const noexcept {
  std::memcpy(to, h2_.data(), headers_bytes_);
  write_number(to + stream_places_.front(), stream);
}

}  // namespace h2server::lab::floor
