// Flow-control windows of a stream or of the connection (RFC 9113, 5.2 and 6.9): SendWindow limits
// what we send, ReceiveWindow what the peer sends. They only count; the caller sends WINDOW_UPDATE.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "http/h2/protocol.h"

namespace h2server::http::h2 {

class SendWindow {
 public:
  explicit SendWindow(std::uint32_t bytes = default_window_bytes) noexcept : left_(bytes) {}

  // Bytes that may be sent now.
  [[nodiscard]] std::uint32_t left() const noexcept {
    return left_ > 0 ? static_cast<std::uint32_t>(left_) : 0;
  }
  void take(std::uint32_t bytes) noexcept { left_ -= bytes; }
  // Applies a WINDOW_UPDATE, or a change of SETTINGS_INITIAL_WINDOW_SIZE, which may make the window
  // negative (6.9.2). Returns false if the window exceeds 2^31-1.
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

  // Returns false if the peer exceeds the window.
  [[nodiscard]] bool take(std::uint32_t bytes) noexcept {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }
  // Releases consumed bytes.
  void release(std::uint32_t bytes) noexcept { done_ += bytes; }
  // Returns true if half the window, or 1 MiB, has been consumed and is not announced, so that
  // announcements are rare.
  [[nodiscard]] bool announcement_due() const noexcept {
    return done_ >= std::min(size_ / 2, announced_bytes_max);
  }
  // Returns the increment to announce, 0 if none is due.
  [[nodiscard]] std::uint32_t announce() noexcept {
    if (!announcement_due()) return 0;
    left_ += done_;
    return std::exchange(done_, 0);
  }
  [[nodiscard]] std::uint32_t give_back(std::uint32_t bytes) noexcept {
    release(bytes);
    return announce();
  }
  // Makes the window smaller by at most `bytes`, which have been consumed and are never announced.
  // Returns by how many.
  [[nodiscard]] std::uint32_t shrink(std::uint32_t bytes) noexcept {
    const std::uint32_t kept = std::min(bytes, done_);
    done_ -= kept;
    size_ -= kept;
    return kept;
  }
  // Bytes that the peer may still send.
  [[nodiscard]] std::uint32_t left() const noexcept { return left_; }
  // Bytes received and not yet consumed.
  [[nodiscard]] std::uint32_t unread() const noexcept { return size_ - left_ - done_; }
  // Grows the window to at least `bytes`. Returns the increment to announce, 0 if none.
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
  std::uint32_t left_;      // bytes that the peer may still send
  std::uint32_t done_ = 0;  // consumed and not announced
};

}  // namespace h2server::http::h2
