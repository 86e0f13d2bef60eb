#include "server/rate_limiter.h"

#include <algorithm>

#include "base/out_of_memory.h"

namespace h2server::server {

RateLimiter::RateLimiter(const RateLimiterLimits& limits)
    : ns_per_token_(limits.ns_per_token),
      debt_ns_max_(limits.ns_per_token * (std::int64_t{limits.burst_max} - 1)),
      group_count_((limits.keys_max + group_size - 1) / group_size),
      groups_(static_cast<Group*>(std::calloc(group_count_, sizeof(Group)))) {
  if (groups_ == nullptr) base::out_of_memory();
}

RateLimiter::Bucket& RateLimiter::find(Group& group, std::uint64_t hash) noexcept {
  const auto known = std::ranges::find(group, hash, &Bucket::hash);
  if (known != group.end()) return *known;
  Bucket& fullest = *std::ranges::min_element(group, {}, &Bucket::full_at_ns);
  fullest = {.hash = hash};
  return fullest;
}

std::int64_t RateLimiter::take(std::uint64_t hash, std::int64_t now_ns) noexcept {
  const std::size_t index = hash % group_count_;
  const std::lock_guard lock(mutexes_[index % mutexes_.size()]);
  Bucket& bucket = find(groups_[index], hash);
  const std::int64_t full_at_ns = std::max(bucket.full_at_ns, now_ns);
  const std::int64_t debt_ns = full_at_ns - now_ns;
  if (debt_ns > debt_ns_max_) return debt_ns - debt_ns_max_;
  bucket.full_at_ns = full_at_ns + ns_per_token_;
  return 0;
}

std::int64_t RateLimiter::wait_ns(std::uint64_t hash, std::int64_t now_ns) noexcept {
  const std::size_t index = hash % group_count_;
  const std::lock_guard lock(mutexes_[index % mutexes_.size()]);
  const auto known = std::ranges::find(groups_[index], hash, &Bucket::hash);
  if (known == groups_[index].end()) return 0;
  return std::max<std::int64_t>(known->full_at_ns - now_ns - debt_ns_max_, 0);
}

void RateLimiter::charge(std::uint64_t hash, std::int64_t now_ns) noexcept {
  const std::size_t index = hash % group_count_;
  const std::lock_guard lock(mutexes_[index % mutexes_.size()]);
  Bucket& bucket = find(groups_[index], hash);
  bucket.full_at_ns = std::max(bucket.full_at_ns, now_ns) + ns_per_token_;
}

}  // namespace h2server::server
