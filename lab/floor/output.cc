#include "floor/output.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace h2server::lab::floor {

namespace {

constexpr std::size_t first_bytes = 64 * 1024;  // enough for most turns of a connection

}  // namespace

char* Output::room(std::size_t bytes) {
  if (used_ + bytes > capacity_) {
    const std::size_t larger = std::max({first_bytes, capacity_ * 2, used_ + bytes});
    auto memory = std::make_unique_for_overwrite<char[]>(larger);
    if (used_ > 0) std::memcpy(memory.get(), memory_.get(), used_);
    memory_ = std::move(memory);
    capacity_ = larger;
  }
  if (pieces_.size() > first_ && pieces_.back().fixed == nullptr) {
    pieces_.back().bytes += bytes;
  } else {
    pieces_.push_back({.fixed = nullptr, .offset = used_, .bytes = bytes});
  }
  char* const start = memory_.get() + used_;
  used_ += bytes;
  bytes_ += bytes;
  return start;
}

void Output::copy(std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(room(bytes.size()), bytes.data(), bytes.size());
}

void Output::refer(std::string_view bytes) {
  if (bytes.empty()) return;
  pieces_.push_back({.fixed = bytes.data(), .offset = 0, .bytes = bytes.size()});
  bytes_ += bytes.size();
}

std::span<iovec> Output::pieces() {
  vectors_.clear();
  const std::size_t last = std::min(pieces_.size(), first_ + IOV_MAX);
  for (std::size_t i = first_; i < last; ++i) {
    const Piece& piece = pieces_[i];
    const char* const start = piece.fixed != nullptr ? piece.fixed : memory_.get() + piece.offset;
    vectors_.push_back({.iov_base = const_cast<char*>(start), .iov_len = piece.bytes});
  }
  return vectors_;
}

void Output::sent(std::size_t bytes) {
  ASSERT(bytes <= bytes_);
  if (bytes == bytes_) return clear();
  bytes_ -= bytes;
  while (bytes >= pieces_[first_].bytes) bytes -= pieces_[first_++].bytes;
  Piece& piece = pieces_[first_];
  if (piece.fixed != nullptr) piece.fixed += bytes;
  piece.offset += bytes;
  piece.bytes -= bytes;
}

void Output::clear() noexcept {
  bytes_ = 0;
  used_ = 0;
  first_ = 0;
  pieces_.clear();
}

std::unique_ptr<Output> OutputPool::take() {
  if (free_.empty()) return std::make_unique<Output>();
  std::unique_ptr<Output> output = std::move(free_.back());
  free_.pop_back();
  return output;
}

void OutputPool::give_back(std::unique_ptr<Output> output) {
  output->clear();
  free_.push_back(std::move(output));
}

}  // namespace h2server::lab::floor
