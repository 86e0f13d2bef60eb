#include "http/h2/hpack/dynamic_table.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace h2server::http::h2::hpack {

namespace {

constexpr std::uint32_t buffer_bytes_min = 256;  // eight fields of some 30 bytes
constexpr std::uint32_t records_min = 8;

}  // namespace

DynamicTable::DynamicTable(std::uint32_t limit_bytes)
    : bytes_max_(limit_bytes), limit_(limit_bytes) {
  ASSERT(limit_bytes <= limit_bytes_max);
}

std::uint32_t DynamicTable::find(std::uint32_t age, std::size_t name_size, std::size_t value_size,
                                 std::uint16_t tag) const noexcept {
  for (; age < count_; ++age) {
    const Record& record = record_at(age);
    if (record.tag == tag && record.name_size == name_size && record.value_size == value_size) {
      return age;
    }
  }
  return count_;
}

void DynamicTable::resize(std::uint32_t bytes_max) noexcept {
  ASSERT(bytes_max <= limit_);
  bytes_max_ = bytes_max;
  evict_down_to(bytes_max);
  if (bytes_max != 0) return;
  buffer_.reset();
  records_.reset();
  capacity_ = records_capacity_ = begin_ = 0;
}

void DynamicTable::insert(std::string_view name, std::string_view value, std::uint16_t tag) {
  if (entry_bytes(name, value) > bytes_max_) return evict_down_to(0);
  const auto size = static_cast<std::uint32_t>(name.size() + value.size());
  evict_down_to(bytes_max_ - size - entry_overhead_bytes);
  if (begin_ + live_ + size > capacity_) make_room(size);
  if (count_ == records_capacity_) grow_records();

  const std::uint32_t end = begin_ + live_;
  if (!name.empty()) std::memcpy(buffer_.get() + end, name.data(), name.size());
  if (!value.empty()) std::memcpy(buffer_.get() + end + name.size(), value.data(), value.size());
  records_[inserted_ & (records_capacity_ - 1)] = {static_cast<std::uint16_t>(base_ + end),
                                                   static_cast<std::uint16_t>(name.size()),
                                                   static_cast<std::uint16_t>(value.size()), tag};
  live_ += size;
  ++inserted_;
  ++count_;
}

void DynamicTable::evict_down_to(std::uint32_t bytes) noexcept {
  while (this->bytes() > bytes) {
    const Record& oldest = record_at(count_ - 1);
    const std::uint32_t size = std::uint32_t{oldest.name_size} + oldest.value_size;
    begin_ += size;
    live_ -= size;
    --count_;
  }
}

// Moves the bytes to the beginning of the buffer, or of a larger one.
void DynamicTable::make_room(std::uint32_t size) {
  const std::uint32_t needed = live_ + size;
  // A table that evicts moves its bytes each time they reach the end. A quarter of free space makes
  // that rare.
  const bool evicts = begin_ != 0;
  std::uint32_t wanted = std::max(capacity_, buffer_bytes_min);
  while (needed > (evicts ? wanted - wanted / 4 : wanted)) wanted *= 2;
  wanted = std::min(wanted, limit_);  // enough for all entries that fit into the table
  if (wanted > capacity_) {
    auto larger = std::make_unique_for_overwrite<char[]>(wanted);
    if (live_ != 0) std::memcpy(larger.get(), buffer_.get() + begin_, live_);
    buffer_ = std::move(larger);
    capacity_ = wanted;
  } else if (live_ != 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, live_);
  }
  base_ = static_cast<std::uint16_t>(base_ + begin_);
  begin_ = 0;
}

void DynamicTable::grow_records() {
  const std::uint32_t capacity = std::max(records_capacity_ * 2, records_min);
  auto larger = std::make_unique_for_overwrite<Record[]>(capacity);
  for (std::uint32_t number = inserted_ - count_; number != inserted_; ++number) {
    larger[number & (capacity - 1)] = records_[number & (records_capacity_ - 1)];
  }
  records_ = std::move(larger);
  records_capacity_ = capacity;
}

}  // namespace h2server::http::h2::hpack
