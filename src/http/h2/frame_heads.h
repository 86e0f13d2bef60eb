// FrameHeads: finds the frame heads in a client's bytes, which may arrive in pieces of any size.
// For a session that leaves the frames themselves to a library.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "http/h2/frame.h"

namespace h2server::http::h2 {

class FrameHeads {
 public:
  // Calls `visit` with each head that ends in `bytes` until it returns false. Returns the number of
  // bytes up to the end of the refused head, or of all bytes if none was refused.
  template <class Visit>
  std::size_t read(std::string_view bytes, Visit visit) {
    std::size_t at = 0;
    while (at < bytes.size()) {
      const std::size_t skipped = std::min(skip_, bytes.size() - at);
      skip_ -= skipped;
      at += skipped;
      const std::size_t part = std::min(frame_head_bytes - filled_, bytes.size() - at);
      bytes.copy(head_.data() + filled_, part, at);
      filled_ += part;
      at += part;
      if (filled_ < frame_head_bytes) break;
      filled_ = 0;
      const FrameHead head = read_frame_head(head_.data());
      skip_ = head.size;
      if (!visit(head)) return at;
    }
    return bytes.size();
  }

 private:
  std::size_t skip_ = preface.size();  // bytes before the next head
  std::size_t filled_ = 0;             // bytes of head_ that have arrived
  std::array<char, frame_head_bytes> head_{};
};

}  // namespace h2server::http::h2
