// SortedNames: the names of a folder, sorted by their bytes. One thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/text/text.h"

namespace h2server::content {

class SortedNames {
 public:
  // Called before sort().
  void add(std::string_view name) {
    ASSERT(text_.size() < std::numeric_limits<std::uint32_t>::max());
    starts_.push_back(static_cast<std::uint32_t>(text_.size()));
    text_ += name;
    text_ += '\0';
  }
  void sort() {
    std::ranges::sort(starts_, {}, [this](std::uint32_t start) { return at(start); });
  }
  // Returns the next name, or an empty view after the last one. Valid as long as this object.
  std::string_view next() noexcept {
    return next_ < starts_.size() ? at(starts_[next_++]) : std::string_view();
  }
  [[nodiscard]] bool contains_ignoring_case(std::string_view name) const noexcept {
    return std::ranges::any_of(starts_, [this, name](std::uint32_t start) {
      return base::equals_ignoring_case(at(start), name);
    });
  }
  // What it holds in memory.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return text_.size() + starts_.size() * sizeof(std::uint32_t);
  }

 private:
  [[nodiscard]] std::string_view at(std::uint32_t start) const noexcept {
    return text_.c_str() + start;
  }

  std::string text_;  // each name with a byte 0 behind it
  std::vector<std::uint32_t> starts_;
  std::size_t next_ = 0;
};

}  // namespace h2server::content
