#include "app/acme/acme_schedule.h"

#include <algorithm>

namespace h2server::app {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

std::int64_t usual_renewal_s(std::int64_t begin_s, std::int64_t end_s, double random) {
  const std::int64_t validity_s = std::max<std::int64_t>(end_s - begin_s, 0);
  const double early = static_cast<double>(validity_s) / 50 * random;
  return begin_s + validity_s / 3 * 2 - static_cast<std::int64_t>(early);
}

std::int64_t renewal_in(const RenewalWindow& window, double random) {
  return window.start_s +
         static_cast<std::int64_t>(static_cast<double>(window.end_s - window.start_s) * random);
}

std::int64_t bounded_renewal_s(std::int64_t renewal_s, const IssuedCertificate& issued,
                               std::int64_t obtained_s) {
  const std::int64_t tenth_s = std::max<std::int64_t>(issued.end_s - issued.begin_s, 0) / 10;
  // One that is valid for a moment, or ends before it begins, still makes a pause.
  const std::int64_t pause_s = std::clamp<std::int64_t>(tenth_s, 1, 3600);
  const std::int64_t earliest_s = obtained_s == 0 ? 0 : obtained_s + pause_s;
  return std::max(std::min(renewal_s, issued.end_s - tenth_s), earliest_s);
}

seconds advice_pause(std::optional<seconds> retry_after) {
  return std::clamp<seconds>(retry_after.value_or(hours(6)), minutes(1), days(1));
}

seconds retry_pause(unsigned failures, double random, std::optional<seconds> retry_after) {
  constexpr unsigned doublings_max = 11;  // 2048 minutes are more than a day
  const unsigned doublings = std::min(failures > 0 ? failures - 1 : 0, doublings_max);
  const seconds pause = std::min<seconds>(minutes(1) * (1U << doublings), days(1));
  const seconds jitter(static_cast<std::int64_t>(static_cast<double>(pause.count()) / 4 * random));
  const seconds asked = std::min(retry_after.value_or(seconds(0)), retry_pause_max);
  return std::max(pause + jitter, asked);
}

}  // namespace h2server::app
