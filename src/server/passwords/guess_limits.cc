#include "server/passwords/guess_limits.h"

#include <algorithm>

namespace h2server::server {

namespace {

constexpr std::int64_t forgotten_after_ns = 30'000'000'000;
// A user's tokens come as fast as those of so many clients. With fewer than this, which one machine
// may have, a user can't be kept out.
constexpr std::uint32_t clients_at_a_user = 10;
constexpr std::size_t keys_max = 16'384;  // 256 KiB

}  // namespace

GuessLimits::GuessLimits(std::uint32_t failures_max)
    : clients_(
          {.ns_per_token = forgotten_after_ns, .burst_max = failures_max, .keys_max = keys_max}),
      users_({.ns_per_token = forgotten_after_ns / clients_at_a_user,
              .burst_max = failures_max * clients_at_a_user,
              .keys_max = keys_max}) {}

std::int64_t GuessLimits::wait_ns(const Guess& guess, std::int64_t now_ns) noexcept {
  const std::int64_t client_ns = clients_.wait_ns(guess.client, now_ns);
  if (guess.client_is_known) return client_ns;
  return std::max(client_ns, users_.wait_ns(guess.user, now_ns));
}

void GuessLimits::count_failure(const Guess& guess, std::int64_t now_ns) noexcept {
  clients_.charge(guess.client, now_ns);
  if (!guess.client_is_known) users_.charge(guess.user, now_ns);
}

}  // namespace h2server::server
