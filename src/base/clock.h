// The two clocks of the server. An engine reads them once a turn and hands the values on; codecs
// never read a clock.
#pragma once

#include <cstdint>

namespace h2server::base {

// Milliseconds since some fixed point; never goes back. Precise to a kernel tick (1 to 10 ms).
std::int64_t monotonic_ms() noexcept;

// Seconds since 1970-01-01 UTC.
std::int64_t unix_seconds() noexcept;

}  // namespace h2server::base
