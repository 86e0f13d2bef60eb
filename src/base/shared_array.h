// SharedArray: an array in memory that a process shares with its forked children.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "h2server/result.h"

namespace h2server::base {

template <class T>
class SharedArray {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  static Result<SharedArray> make(std::size_t size) {
    void* const memory = ::mmap(nullptr, size * sizeof(T), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return std::unexpected(Error{errno, "mmap"});
    SharedArray made;
    made.items_ = {static_cast<T*>(memory), size};
    std::uninitialized_value_construct_n(made.items_.data(), size);
    return made;
  }

  SharedArray() = default;
  SharedArray(SharedArray&& other) noexcept : items_(std::exchange(other.items_, {})) {}
  SharedArray& operator=(SharedArray&& other) noexcept {
    std::swap(items_, other.items_);
    return *this;
  }
  ~SharedArray() {
    if (!items_.empty()) ::munmap(items_.data(), items_.size_bytes());
  }

  [[nodiscard]] std::span<T> items() const noexcept { return items_; }

 private:
  std::span<T> items_;
};

}  // namespace h2server::base
