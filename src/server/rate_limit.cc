#include "h2server/rate_limit.h"
#include "base/clock.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/keyed_hash.h"
#include "server/rate_limiter.h"

namespace h2server {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

server::RateLimiterLimits limits_of(const RateLimitOptions& options) {
  constexpr double requests_per_s_max = 1e6;  // beyond it, rounding to ns changes the rate
  constexpr double year_s = 365 * 86'400;     // 2^54 ns: sums can't overflow
  const bool valid = options.key != nullptr && options.requests_per_s > 0 &&
                     options.requests_per_s <= requests_per_s_max && options.burst_max >= 1 &&
                     options.burst_max / options.requests_per_s <= year_s && options.keys_max >= 1;
  if (!valid) throw std::invalid_argument("rate_limit without a key, or out of range");
  return {.ns_per_token = static_cast<std::int64_t>(second_ns / options.requests_per_s),
          .burst_max = options.burst_max,
          .keys_max = options.keys_max};
}

}  // namespace

Middleware rate_limit(RateLimitOptions options) {
  const auto limiter = std::make_shared<server::RateLimiter>(limits_of(options));
  return [limiter, key = std::move(options.key)](Request& request) -> std::optional<Response> {
    const std::int64_t wait_ns =
        limiter->take(base::keyed_hash(key(request)), base::monotonic_ns());
    if (wait_ns == 0) return std::nullopt;
    // RFC 9110, 10.2.3: seconds. Rounded up, so that the client does not come too early.
    Response response(429);
    response.add("Retry-After", std::to_string((wait_ns + second_ns - 1) / second_ns));
    return response;
  };
}

}  // namespace h2server
