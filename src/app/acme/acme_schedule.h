// When ACME does what: renewals, questions about them, new tries after failures.
//
// Pure functions, any thread. Times are seconds since 1970; `random` is in [0, 1).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "app/acme/acme_messages.h"
#include "app/acme/acme_store.h"

namespace h2server::app {

// Returns when to renew without a hint of the authority: two thirds of the validity are over, and
// up to a fiftieth earlier, so that servers that began together don't come together.
std::int64_t usual_renewal_s(std::int64_t begin_s, std::int64_t end_s, double random);

// Returns a time in the window (RFC 9773, 4.2).
std::int64_t renewal_in(const RenewalWindow& window, double random);

// Returns the time to renew at when `renewal_s` is intended: no hint of an authority lets a
// certificate expire, nor orders one after the other. `obtained_s`: when this program got the
// certificate, or 0.
std::int64_t bounded_renewal_s(std::int64_t renewal_s, const IssuedCertificate& issued,
                               std::int64_t obtained_s);

// Returns how long until the authority is asked again about a certificate: as long as it says, but
// a minute to a day (RFC 9773, 4.3.2); without a word, six hours.
std::chrono::seconds advice_pause(std::optional<std::chrono::seconds> retry_after);

// What retry_pause() returns at most.
inline constexpr std::chrono::seconds retry_pause_max = std::chrono::days(7);

// Returns how long to wait after that many failures in a row, one at least: a minute, doubled with
// each, a day at most, all of it up to a quarter longer; and not less than the authority asks, up
// to a week.
std::chrono::seconds retry_pause(unsigned failures, double random,
                                 std::optional<std::chrono::seconds> retry_after);

}  // namespace h2server::app
