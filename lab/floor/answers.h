// The single response of the floor server, serialised once. For HTTP/1.1 it is repeated, so that
// any number of responses is a slice of it. For HTTP/2 it records where stream identifiers go.
// Immutable; shared by all threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace h2server::lab::floor {

constexpr std::size_t h2_frame_bytes_max = 16 * 1024;  // RFC 9113, 6.5.2: accepted by every client
constexpr std::size_t h2_header_bytes = 9;             // of a frame (4.1)

// A frame's header (4.1).
using FrameHeader = std::array<char, h2_header_bytes>;
FrameHeader frame_header(std::size_t payload_bytes, std::uint8_t type, std::uint8_t flags,
                         std::uint32_t stream) noexcept;
FrameHeader data_header(std::size_t payload_bytes, bool last, std::uint32_t stream) noexcept;

struct AnswerOptions {
  bool close = false;    // HTTP/1.1 connections end after one response
  bool uploads = false;  // HTTP/1.1 requests may have a body, which is read first
  bool found = true;     // status 200 if true, 404 if false
};

class Answers {
 public:
  explicit Answers(std::string body, AnswerOptions options = {});

  [[nodiscard]] bool close() const noexcept { return options_.close; }
  [[nodiscard]] bool uploads() const noexcept { return options_.uploads; }
  [[nodiscard]] std::string_view body() const noexcept { return body_; }

  // HTTP/1.1: one or more responses, each h1_bytes() long.
  [[nodiscard]] std::string_view h1() const noexcept { return h1_; }
  [[nodiscard]] std::size_t h1_bytes() const noexcept { return h1_bytes_; }

  // HTTP/2: true if write_h2() writes all of DATA, too. Only for bodies so small that a copy is
  // cheaper than references.
  [[nodiscard]] bool h2_is_whole() const noexcept { return whole_; }
  [[nodiscard]] std::size_t h2_bytes() const noexcept { return h2_.size(); }
  // Writes h2_bytes() bytes.
  void write_h2(char* to, std::uint32_t stream) const noexcept;
  // HEADERS only.
  [[nodiscard]] std::size_t h2_headers_bytes() const noexcept { return headers_bytes_; }
  void write_h2_headers(char* to, std::uint32_t stream) const noexcept;

 private:
  std::string body_;
  AnswerOptions options_;
  bool whole_;
  std::string h1_;
  std::size_t h1_bytes_ = 0;
  std::string h2_;
  std::size_t headers_bytes_ = 0;           // of h2_
  std::vector<std::size_t> stream_places_;  // in h2_
};

}  // namespace h2server::lab::floor
