// GatheredBytes: the bytes of a head or a frame that arrives in pieces, until it is whole. Beyond a
// little they count as memory of requests: a client may leave many of them unfinished.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/memory/memory_budget.h"

namespace h2server::base {

class GatheredBytes {
 public:
  // What stays after clear(), and does not count.
  static constexpr std::size_t kept_bytes_max = 256;

  GatheredBytes() = default;
  GatheredBytes(const GatheredBytes&) = delete;
  GatheredBytes& operator=(const GatheredBytes&) = delete;

  void append(std::string_view bytes) {
    bytes_.append(bytes);
    count();
  }
  void take(std::string bytes) {
    bytes_.swap(bytes);
    count();
  }
  void clear() noexcept {
    bytes_.clear();
    if (bytes_.capacity() <= kept_bytes_max) return;
    std::string().swap(bytes_);
    charge_.set(0);
  }

  [[nodiscard]] std::string_view view() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
  // What counts.
  [[nodiscard]] std::size_t bytes_held() const noexcept { return charge_.bytes(); }

 private:
  void count() noexcept { charge_.set(bytes_.capacity() > kept_bytes_max ? bytes_.capacity() : 0); }

  std::string bytes_;
  MemoryCharge charge_{MemoryOwner::requests};
};

}  // namespace h2server::base
