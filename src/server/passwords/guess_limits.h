// GuessLimits: how often a client, and all clients together at one user, may guess passwords.
//
// A wrong guess takes a token of its client's bucket and, unless the client is known at that user,
// one of the user's bucket. Those that are checked at the same time may take more tokens than there
// are; the next guess then waits for longer. Any thread.
#pragma once

#include <cstdint>

#include "server/rate_limiter.h"

namespace h2server::server {

struct Guess {
  std::uint64_t client = 0;  // base::keyed_hash() of each name
  std::uint64_t user = 0;
  bool client_is_known = false;
};

class GuessLimits {
 public:
  // At most 1000.
  explicit GuessLimits(std::uint32_t failures_max);

  // Returns 0, or the time in nanoseconds until a guess is allowed.
  [[nodiscard]] std::int64_t wait_ns(const Guess& guess, std::int64_t now_ns) noexcept;
  void count_failure(const Guess& guess, std::int64_t now_ns) noexcept;

 private:
  RateLimiter clients_;
  RateLimiter users_;
};

}  // namespace h2server::server
