// Lease: bytes in a buffer that an engine lends. The buffer goes back to the engine when the lease
// ends. A lease that is kept over a suspension keeps its buffer.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace h2server::io {

// The owner of the buffers; a base of Engine. Must outlive every lease.
class Lender {
 public:
  virtual void take_back(char* buffer) noexcept = 0;

 protected:
  ~Lender() = default;
};

class Lease {
 public:
  Lease() = default;
  Lease(Lender& lender, char* buffer, std::size_t capacity) noexcept
      : lender_(&lender), buffer_(buffer), capacity_(capacity) {}
  Lease(Lease&& other) noexcept
      : lender_(std::exchange(other.lender_, nullptr)),
        buffer_(std::exchange(other.buffer_, nullptr)),
        capacity_(std::exchange(other.capacity_, 0)),
        size_(std::exchange(other.size_, 0)) {}
  Lease& operator=(Lease&& other) noexcept {
    if (this == &other) return *this;
    end();
    lender_ = std::exchange(other.lender_, nullptr);
    buffer_ = std::exchange(other.buffer_, nullptr);
    capacity_ = std::exchange(other.capacity_, 0);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  ~Lease() { end(); }

  [[nodiscard]] std::string_view bytes() const noexcept { return {buffer_, size_}; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  // The whole buffer, to be filled from its start.
  [[nodiscard]] std::span<char> room() const noexcept { return {buffer_, capacity_}; }
  void set_size(std::size_t size) noexcept { size_ = size; }

  void end() noexcept {
    if (lender_ != nullptr) std::exchange(lender_, nullptr)->take_back(buffer_);
    buffer_ = nullptr;
    capacity_ = size_ = 0;
  }

 private:
  Lender* lender_ = nullptr;
  char* buffer_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
};

}  // namespace h2server::io
