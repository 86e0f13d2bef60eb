// SkippedStreams: the identifiers that a client skipped and may not use later.
//
// RFC 9113, 5.1.1: a new identifier closes the unused ones below it. libnghttp2 ignores HEADERS on
// them, since it can't tell them from streams that it has forgotten. One connection.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace h2server::http::h2 {

class SkippedStreams {
 public:
  // The client has opened this stream.
  void opened(std::int32_t id) {
    constexpr std::size_t gaps_max = 32;  // ordinary clients leave none
    if (id > last_id_ + 2 && gaps_.size() < gaps_max) gaps_.emplace_back(last_id_ + 2, id - 2);
    last_id_ = id;
  }
  [[nodiscard]] bool contain(std::int32_t id) const noexcept {
    return std::ranges::any_of(
        gaps_, [id](const auto& gap) { return id >= gap.first && id <= gap.second; });
  }
  // Of the last stream that was opened; -1: none.
  [[nodiscard]] std::int32_t last_id() const noexcept { return last_id_; }

 private:
  std::vector<std::pair<std::int32_t, std::int32_t>> gaps_;  // [first, second]
  std::int32_t last_id_ = -1;
};

}  // namespace h2server::http::h2
