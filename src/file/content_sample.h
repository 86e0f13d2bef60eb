// ContentSample: what a file had at both ends of its first bytes, so that one that has grown since
// can be told from one that was rewritten and is longer now. Immutable; any thread.
#pragma once

#include <cstdint>
#include <optional>

namespace h2server::file {

class ContentSample {
 public:
  // Of the file's first `bytes`, at least 1. Returns nullopt if they can't be read, or would have
  // to be waited for and `may_wait` is false.
  [[nodiscard]] static std::optional<ContentSample> take(int descriptor, std::uint64_t bytes,
                                                         bool may_wait);
  // Returns true if the file has these bytes still. Those that would have to be waited for are not
  // looked at, unless `may_wait`: what was written just now is in memory.
  [[nodiscard]] bool is_still_in(int descriptor, bool may_wait) const;

 private:
  ContentSample(std::uint64_t bytes, std::uint64_t first, std::uint64_t last) noexcept
      : bytes_(bytes), first_(first), last_(last) {}

  std::uint64_t bytes_;
  std::uint64_t first_;  // hashes
  std::uint64_t last_;
};

}  // namespace h2server::file
