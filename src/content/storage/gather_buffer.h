// GatherBuffer: received bytes that are not written yet. Slow clients use little memory, fast ones
// need few hand-overs to threads that may wait for the disk, and few writes, which are aligned.
//
// One thread at a time; a thread keeps one large buffer for the next upload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/memory/memory_budget.h"

namespace h2server::content {

struct GatherLimits {
  // Until a client proves to be fast. Most files are smaller.
  static constexpr std::size_t small_bytes = 64 * 1024;
  // A hand-over costs 20 us whatever its size: 0.02 ns per byte.
  static constexpr std::size_t large_bytes = 1024 * 1024;
  // Of the process. Clients that send fast and then stall must not occupy more memory; the other
  // uploads get small buffers then.
  static constexpr unsigned large_count_max = 64;
  // A slow client should not occupy that much memory: from this size on, bytes are due if nothing
  // was written for this time.
  static constexpr std::size_t due_bytes_min = 16 * 1024;
  static constexpr std::int64_t due_ms = 100;
};

class GatherBuffer {
 public:
  // Bytes that were taken out of the buffer, with their memory.
  class Batch {
   public:
    Batch() = default;
    Batch(Batch&& other) noexcept
        : room_(std::move(other.room_)),
          capacity_(std::exchange(other.capacity_, 0)),
          size_(std::exchange(other.size_, 0)),
          charge_(std::move(other.charge_)) {}
    Batch& operator=(Batch&& other) noexcept {
      std::swap(room_, other.room_);
      std::swap(capacity_, other.capacity_);
      std::swap(size_, other.size_);
      std::swap(charge_, other.charge_);
      return *this;
    }
    ~Batch();

    [[nodiscard]] std::string_view bytes() const noexcept { return {room_.get(), size_}; }

   private:
    friend class GatherBuffer;
    [[nodiscard]] bool is_large() const noexcept { return capacity_ == GatherLimits::large_bytes; }
    [[nodiscard]] bool take_large() noexcept;

    std::unique_ptr<char[]> room_;
    std::size_t capacity_ = 0;
    std::size_t size_ = 0;
    base::MemoryCharge charge_{base::MemoryOwner::uploads};
  };

  // `body_bytes` is the size of the body if it is known. If `first_at_once`, the first bytes are
  // due however few they are.
  GatherBuffer(std::optional<std::uint64_t> body_bytes, bool first_at_once,
               std::int64_t now_ms) noexcept
      : body_bytes_(body_bytes), written_ms_(now_ms), at_once_(first_at_once) {}
  GatherBuffer(const GatherBuffer&) = delete;
  GatherBuffer& operator=(const GatherBuffer&) = delete;

  // Copies the front of `bytes`, as much as there is room for, and removes it.
  void take(std::string_view& bytes);
  [[nodiscard]] std::string_view bytes() const noexcept { return batch_.bytes(); }
  [[nodiscard]] bool full() const noexcept { return batch_.size_ == batch_bytes_; }
  // Returns true if the client is fast enough for large batches, one of which has been received.
  [[nodiscard]] bool streams() const noexcept { return full() && batch_.is_large(); }
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }  // received so far
  // Returns true if the bytes should be written now.
  [[nodiscard]] bool due(std::int64_t now_ms) const noexcept;
  // Call when the bytes have been written.
  void clear(std::int64_t now_ms) noexcept;
  // The same, for bytes that will be written while the next ones are received.
  Batch detach(std::int64_t now_ms) noexcept;

 private:
  void make_room();
  [[nodiscard]] bool wants_large() const noexcept;
  void align() noexcept;

  const std::optional<std::uint64_t> body_bytes_;
  Batch batch_;
  std::size_t batch_bytes_ = 0;  // of its capacity: so many that batches end at multiples of it
  std::uint64_t total_ = 0;
  std::int64_t written_ms_;
  bool at_once_;  // bytes are due however few they are
};

}  // namespace h2server::content
