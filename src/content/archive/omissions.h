// Omissions: what an archive should have and does not, as a text for its reader. One thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace h2server::content {

class Omissions {
 public:
  // Keeps the first 64 KiB, and the number of all.
  void add(std::string_view path, std::string_view reason);
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  // Returns UTF-8 text with a line for each.
  [[nodiscard]] std::string text() const;

 private:
  std::string lines_;
  std::size_t count_ = 0;
  std::size_t shown_ = 0;
};

}  // namespace h2server::content
