#include "app/certificates/certificate_expiry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "app/doctor/doctor_text.h"
#include "net/certs/tls_inspection.h"

namespace h2server::app {

namespace {

constexpr std::int64_t day_s = 24 * 3600;

struct Step {
  std::int64_t left_s;
  base::Severity severity;
  bool when_renewed;  // also counts for a certificate that this program should have renewed by then
};
constexpr std::array steps = {Step{30 * day_s, base::Severity::warning, false},
                              Step{7 * day_s, base::Severity::warning, true},
                              Step{1 * day_s, base::Severity::error, true},
                              Step{0, base::Severity::error, true}};

bool counts(const Step& step, const CertificateInUse& certificate) {
  if (certificate.renews_itself && !step.when_renewed) return false;
  return step.left_s <= (certificate.end_s - certificate.begin_s) / 2;
}

// Returns how many steps have been reached, among those that do not count, too.
std::size_t steps_reached(std::int64_t left_s) {
  return static_cast<std::size_t>(
      std::ranges::count_if(steps, [&](const Step& step) { return left_s <= step.left_s; }));
}

std::string time_left(std::int64_t left_s) {
  constexpr std::int64_t hour_s = 3600;
  if (left_s >= 2 * day_s) return counted(static_cast<std::uint64_t>(left_s / day_s), "day");
  if (left_s >= hour_s) return counted(static_cast<std::uint64_t>(left_s / hour_s), "hour");
  return "less than an hour";
}

std::string describe(const CertificateInUse& certificate, std::int64_t now_s) {
  const std::int64_t left_s = certificate.end_s - now_s;
  const auto end = std::chrono::sys_seconds(std::chrono::seconds(certificate.end_s));
  const std::chrono::year_month_day date(std::chrono::floor<std::chrono::days>(end));
  const std::string names = certificate.names.empty()
                                ? std::string()
                                : fmt::format(" of {}{}", certificate.names.front(),
                                              certificate.names.size() > 1 ? " and others" : "");
  const std::string day =
      fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  if (left_s <= 0) {
    return fmt::format("the certificate {}{} expired on {}: clients do not accept it",
                       certificate.file, names, day);
  }
  return fmt::format("the certificate {}{} expires in {}, on {}: renew it", certificate.file, names,
                     time_left(left_s), day);
}

}  // namespace

std::vector<CertificateInUse> certificates_in_use(const std::vector<CertificateFiles>& files) {
  std::vector<CertificateInUse> certificates;
  std::set<std::string> known;
  for (const CertificateFiles& one : files) {
    if (!known.insert(one.certificate_file).second) continue;
    auto facts = net::inspect_certificate(one.certificate_file);
    if (!facts) continue;
    certificates.push_back({.file = one.certificate_file,
                            .names = std::move(facts->names),
                            .begin_s = facts->begin_s,
                            .end_s = facts->end_s,
                            .fingerprint = std::move(facts->fingerprint)});
  }
  return certificates;
}

void CertificateExpiry::set(const std::vector<CertificateInUse>& certificates, std::int64_t now_s) {
  std::vector<Watched> before = std::exchange(watched_, {});
  for (const CertificateInUse& one : certificates) {
    const auto same = std::ranges::find_if(before, [&](const Watched& watched) {
      return watched.certificate.file == one.file &&
             watched.certificate.fingerprint == one.fingerprint;
    });
    std::size_t done = same != before.end() ? same->steps_done : 0;
    if (one.end_s <= now_s) done = steps.size();
    watched_.push_back({one, done});
  }
}

std::vector<CertificateExpiry::Line> CertificateExpiry::due(std::int64_t now_s) {
  std::vector<Line> lines;
  for (Watched& one : watched_) {
    const std::size_t reached = steps_reached(one.certificate.end_s - now_s);
    const Step* nearest = nullptr;
    for (std::size_t at = one.steps_done; at < reached; ++at) {
      if (counts(steps[at], one.certificate)) nearest = &steps[at];
    }
    one.steps_done = std::max(one.steps_done, reached);
    if (nearest != nullptr) lines.push_back({nearest->severity, describe(one.certificate, now_s)});
  }
  return lines;
}

}  // namespace h2server::app
