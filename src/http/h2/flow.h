// Flow control (RFC 9113, 5.2 and 6.9): a window for what we send and one for what we receive, of a
// stream or of the connection.
#pragma once

#include <algorithm>
#include <cstdint>

#include "http/h2/protocol.h"

namespace h2server::http::h2 {

class SendWindow {
 public:
  explicit SendWindow(std::uint32_t bytes = default_window_bytes) noexcept : left_(bytes) {}

  // What may be sent.
  [[nodiscard]] std::uint32_t left() const noexcept {
    return left_ > 0 ? static_cast<std::uint32_t>(left_) : 0;
  }
  void take(std::uint32_t bytes) noexcept { left_ -= bytes; }
  // By WINDOW_UPDATE, or by a change of SETTINGS_INITIAL_WINDOW_SIZE, which may make it negative
  // (6.9.2). False: beyond 2^31-1.
  [[nodiscard]] bool add(std::int64_t bytes) noexcept {
    left_ += bytes;
    return left_ <= largest_window_bytes;
  }

 private:
  std::int64_t left_;
};

class ReceiveWindow {
 public:
  explicit ReceiveWindow(std::uint32_t bytes = default_window_bytes) noexcept
      : size_(bytes), left_(bytes) {}

  // False: the peer sends more than it may.
  [[nodiscard]] bool take(std::uint32_t bytes) noexcept {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }
  // That much has been dealt with. The increment to announce: 0 until it is half the window, or
  // 1 MiB, so that an announcement is rare.
  [[nodiscard]] std::uint32_t give_back(std::uint32_t bytes) noexcept {
    done_ += bytes;
    if (done_ < std::min(size_ / 2, announced_bytes_max)) return 0;
    const std::uint32_t increment = done_;
    left_ += increment;
    done_ = 0;
    return increment;
  }
  // What the peer may still send.
  [[nodiscard]] std::uint32_t left() const noexcept { return left_; }
  // What has arrived and was not dealt with.
  [[nodiscard]] std::uint32_t unread() const noexcept { return size_ - left_ - done_; }
  // From now on at least that large; the increment to announce.
  [[nodiscard]] std::uint32_t grow_to(std::uint32_t bytes) noexcept {
    if (bytes <= size_) return 0;
    const std::uint32_t increment = bytes - size_;
    size_ = bytes;
    left_ += increment;
    return increment;
  }

 private:
  static constexpr std::uint32_t announced_bytes_max = 1024 * 1024;

  std::uint32_t size_;
  std::uint32_t left_;      // what the peer may still send
  std::uint32_t done_ = 0;  // dealt with and not announced
};

}  // namespace h2server::http::h2
