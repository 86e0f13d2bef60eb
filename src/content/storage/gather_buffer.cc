#include "content/storage/gather_buffer.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace h2server::content {

namespace {

// A fresh buffer of this size costs 256 page faults, 60 us.
thread_local std::unique_ptr<char[]> spare;

constinit std::atomic<unsigned> large_count{0};  // in use

}  // namespace

// --- batches ----------------------------------------------------------------------------------

GatherBuffer::Batch::~Batch() {
  if (!is_large()) return;
  large_count.fetch_sub(1, std::memory_order_relaxed);
  spare = std::move(room_);
}

// Returns false if there are too many.
bool GatherBuffer::Batch::take_large() noexcept {
  if (large_count.fetch_add(1, std::memory_order_relaxed) >= GatherLimits::large_count_max) {
    large_count.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  capacity_ = GatherLimits::large_bytes;
  room_ = std::exchange(spare, nullptr);
  charge_.set(capacity_);
  if (room_ == nullptr) room_ = std::make_unique_for_overwrite<char[]>(capacity_);
  return true;
}

// --- the buffer -------------------------------------------------------------------------------

void GatherBuffer::take(std::string_view& bytes) {
  if (batch_.capacity_ == 0) make_room();
  const std::size_t count = std::min(bytes.size(), batch_bytes_ - batch_.size_);
  std::memcpy(batch_.room_.get() + batch_.size_, bytes.data(), count);
  batch_.size_ += count;
  total_ += count;
  bytes.remove_prefix(count);
}

void GatherBuffer::make_room() {
  if (!wants_large() || !batch_.take_large()) {
    batch_.capacity_ = GatherLimits::small_bytes;
    const std::uint64_t left = body_bytes_.value_or(0) - std::min(body_bytes_.value_or(0), total_);
    if (left > 0) batch_.capacity_ = std::min<std::uint64_t>(batch_.capacity_, left);
    batch_.charge_.set(batch_.capacity_);
    batch_.room_ = std::make_unique_for_overwrite<char[]>(batch_.capacity_);
  }
  align();
}

bool GatherBuffer::wants_large() const noexcept {
  if (total_ < GatherLimits::small_bytes) return false;
  if (base::MemoryBudget::of_process().tight()) return false;
  return !body_bytes_ || *body_bytes_ > total_ + GatherLimits::small_bytes;
}

// After a batch that was due early, the next one is shorter.
void GatherBuffer::align() noexcept {
  batch_bytes_ = batch_.capacity_;
  if (batch_.capacity_ >= GatherLimits::small_bytes) batch_bytes_ -= total_ % batch_.capacity_;
}

bool GatherBuffer::due(std::int64_t now_ms) const noexcept {
  if (at_once_ || full()) return true;
  return batch_.size_ >= GatherLimits::due_bytes_min &&
         now_ms - written_ms_ >= GatherLimits::due_ms;
}

void GatherBuffer::clear(std::int64_t now_ms) noexcept {
  // A client that fills the buffer before bytes are due is fast.
  const bool grows = full() && !batch_.is_large() && now_ms - written_ms_ < GatherLimits::due_ms;
  at_once_ = false;
  written_ms_ = now_ms;
  batch_.size_ = 0;
  if (grows) batch_ = Batch();
  if (batch_.capacity_ > 0) align();
}

GatherBuffer::Batch GatherBuffer::detach(std::int64_t now_ms) noexcept {
  at_once_ = false;
  written_ms_ = now_ms;
  return std::move(batch_);
}

}  // namespace h2server::content
