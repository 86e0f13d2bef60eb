// Pool: objects that are reused instead of allocated again. One thread. Must outlive its objects,
// which are counted as memory of requests.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/memory/memory_budget.h"

namespace h2server::base {

// T::clear() resets the object but keeps its memory.
template <class T>
class Pool {
 public:
  struct Return {
    Pool* pool;
    void operator()(T* object) const noexcept { pool->give(object); }
  };
  using Pointer = std::unique_ptr<T, Return>;

  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { free_spare(); }

  Pointer take() {
    if (free_.empty()) {
      MemoryBudget::of_process().charge(MemoryOwner::requests, sizeof(T));
      return Pointer(std::make_unique<T>().release(), Return{this});
    }
    std::unique_ptr<T> object = std::move(free_.back());
    free_.pop_back();
    return Pointer(object.release(), Return{this});
  }
  void free_spare() noexcept {
    MemoryBudget::of_process().discharge(MemoryOwner::requests, free_.size() * sizeof(T));
    free_.clear();
    free_.shrink_to_fit();
  }

 private:
  static constexpr std::size_t kept_max = 256;  // the rest of a burst is freed

  void give(T* object) noexcept {
    std::unique_ptr<T> owned(object);
    if (free_.size() == kept_max) {
      MemoryBudget::of_process().discharge(MemoryOwner::requests, sizeof(T));
      return;
    }
    owned->clear();
    free_.push_back(std::move(owned));
  }

  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace h2server::base
