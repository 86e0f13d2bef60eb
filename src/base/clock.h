// The two clocks of the server. An event loop reads them once per turn and passes the values on.
// Codecs never read a clock.
#pragma once

#include <cstdint>

namespace h2server::base {

// Returns milliseconds since a fixed point. Never goes back. Precise to a kernel tick (1 to 10 ms).
std::int64_t monotonic_ms() noexcept;

// Return microseconds: since a fixed point, and since 1970-01-01 UTC. For what is measured, not for
// deadlines.
std::int64_t monotonic_us() noexcept;
std::int64_t unix_us() noexcept;

// Returns nanoseconds since a fixed point.
std::int64_t monotonic_ns() noexcept;

// Returns seconds since 1970-01-01 UTC.
std::int64_t unix_seconds() noexcept;

}  // namespace h2server::base
