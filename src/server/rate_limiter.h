// RateLimiter: token buckets for many keys, in memory of a fixed size.
//
// A bucket is one number: the time at which it is full again. That is in the past for one that no
// request has used lately, which is as good as none. A key is kept as its hash, so the length of a
// key costs no memory; two keys with the same hash would share a bucket.
//
// The buckets lie in groups of eight, which a key's hash selects. A new key takes the bucket of its
// group that is full soonest. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>

namespace h2server::server {

struct RateLimiterLimits {
  std::int64_t ns_per_token = 100'000'000;
  std::uint32_t burst_max = 20;
  std::size_t keys_max = 65'536;
};

class RateLimiter {
 public:
  explicit RateLimiter(const RateLimiterLimits& limits);

  // Takes a token from the bucket of the key with that hash. Returns 0, or the time in nanoseconds
  // until there will be one. `now_ns` is of a clock that never goes back.
  [[nodiscard]] std::int64_t take(std::uint64_t hash, std::int64_t now_ns) noexcept;
  // Returns what take() would return, and takes nothing.
  [[nodiscard]] std::int64_t wait_ns(std::uint64_t hash, std::int64_t now_ns) noexcept;
  // Takes a token even if there is none: the next ones then fill that debt.
  void charge(std::uint64_t hash, std::int64_t now_ns) noexcept;

 private:
  struct Bucket {
    std::uint64_t hash = 0;
    std::int64_t full_at_ns = 0;
  };
  static constexpr std::size_t group_size = 8;  // two cache lines
  using Group = std::array<Bucket, group_size>;

  static Bucket& find(Group& group, std::uint64_t hash) noexcept;

  const std::int64_t ns_per_token_;
  const std::int64_t debt_ns_max_;  // of a bucket that has a token left
  struct Free {
    void operator()(Group* groups) const noexcept { std::free(groups); }
  };

  const std::size_t group_count_;
  // By calloc(): zeros that take no memory before they are used. A thousand sites may have limits.
  const std::unique_ptr<Group[], Free> groups_;
  std::array<std::mutex, 16> mutexes_;  // of groups, by their index: workers seldom meet
};

}  // namespace h2server::server
