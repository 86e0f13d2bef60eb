#include "app/certificates/certificate_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

#include "app/system/start_thread.h"
#include "base/assert.h"

namespace h2server::app {

namespace {

using base::Severity;

constexpr std::uint32_t changes_of_names = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                                           IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF |
                                           IN_MOVE_SELF;
// How often it looks if it can't watch a folder.
constexpr std::int64_t unwatched_look_ms = 60'000;

std::string day_of(std::int64_t time_s) {
  const auto time = std::chrono::sys_seconds(std::chrono::seconds(time_s));
  const std::chrono::year_month_day date(std::chrono::floor<std::chrono::days>(time));
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

}  // namespace

std::vector<CertificateFiles> certificate_files_of(const ServerOptions& options) {
  std::vector<CertificateFiles> files = {
      {options.certificate_file, options.key_file, options.ocsp_file}};
  const auto add = [&files](const CertificateFiles& one) {
    if (std::ranges::find(files, one) == files.end()) files.push_back(one);
  };
  std::ranges::for_each(options.more_certificates, add);
  for (const HostCertificate& host : options.host_certificates) {
    add({host.certificate_file, host.key_file, host.ocsp_file});
    std::ranges::for_each(host.more, add);
  }
  return files;
}

CertificateWatch::CertificateWatch(CertificateWatchOptions options)
    : options_(std::move(options)),
      changes_(options_.files, options_.limits, options_.other_files) {}

CertificateWatch::~CertificateWatch() { stop(); }

Result<void, std::string> CertificateWatch::start() {
  ASSERT(!thread_.joinable());
  stop_ = base::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_.valid()) {
    return std::unexpected(fmt::format("can't watch certificates: {}", std::strerror(errno)));
  }
  inotify_ = base::Fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify_.valid()) {  // EMFILE: the user's limit; ENFILE, ENOMEM
    options_.log(Severity::warning,
                 fmt::format("can't watch the files of certificates ({}); they are looked at each "
                             "minute instead",
                             std::strerror(errno)));
  }
  take_certificates();
  watch_folders();
  warn();
  Result<std::thread, std::string> thread = start_thread([this] { run(); });
  if (!thread) return std::unexpected("can't watch certificates: " + thread.error());
  thread_ = *std::move(thread);
  return {};
}

void CertificateWatch::stop() noexcept {
  if (!thread_.joinable()) return;
  constexpr std::uint64_t one = 1;
  // Can't fail: the counter is far from its end.
  static_cast<void>(::write(stop_.get(), &one, sizeof one));
  thread_.join();
}

std::vector<CertificateInUse> CertificateWatch::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

void CertificateWatch::run() {
  const std::int64_t period_ms =
      inotify_.valid() ? options_.look_ms : std::min(options_.look_ms, unwatched_look_ms);
  std::int64_t look_ms = base::monotonic_ms() + period_ms;
  for (;;) {
    const std::int64_t now_ms = base::monotonic_ms();
    const CertificateChanges::Verdict verdict = changes_.look(now_ms);
    const bool is_due = now_ms >= look_ms;
    if (verdict.load || (failed_ && is_due)) load();
    if (is_due) {
      watch_folders();
      look_ms = now_ms + period_ms;
    }
    warn();
    if (wait_until(std::min(verdict.again_ms.value_or(look_ms), look_ms))) return;
  }
}

// Waits for an event that concerns the files. Returns true after stop().
bool CertificateWatch::wait_until(std::int64_t end_ms) {
  for (;;) {
    const std::int64_t left_ms = std::max<std::int64_t>(end_ms - base::monotonic_ms(), 0);
    std::array<pollfd, 2> sources = {pollfd{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                                     pollfd{.fd = inotify_.get(), .events = POLLIN, .revents = 0}};
    // Fails never: all signals are blocked. A negative descriptor is left out.
    if (::poll(sources.data(), sources.size(), static_cast<int>(left_ms)) <= 0) return false;
    // Events that follow each other closely are read together.
    constexpr int calm_ms = 20;
    if (sources[0].revents != 0 || ::poll(sources.data(), 1, calm_ms) > 0) return true;
    if (read_events()) return false;
  }
}

// Returns true if one of them concerns the files. Folders may be others then: links lead elsewhere,
// or a folder was made.
bool CertificateWatch::read_events() {
  alignas(inotify_event) std::array<char, 16 * 1024> room;
  bool concerned = false;
  for (;;) {
    const ssize_t size = ::read(inotify_.get(), room.data(), room.size());
    if (size <= 0) break;  // EAGAIN: these were all
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      inotify_event event;
      std::memcpy(&event, room.data() + at, sizeof event);
      const char* const name = event.len > 0 ? room.data() + at + sizeof event : "";
      // Without a name, it is about a folder itself, or events were lost.
      concerned = concerned || event.len == 0 || watched_.names.contains(name);
      if ((event.mask & IN_IGNORED) != 0) watches_.erase(event.wd);
      at += sizeof event + event.len;
    }
  }
  if (concerned) watch_folders();
  return concerned;
}

void CertificateWatch::watch_folders() {
  if (!inotify_.valid()) return;
  watched_ = {};
  for (const std::string& path : changes_.paths()) add_watched_names(path, watched_);
  std::map<int, std::string> present;
  for (const std::string& folder : watched_.folders) {
    const int watch =
        ::inotify_add_watch(inotify_.get(), folder.c_str(), changes_of_names | IN_ONLYDIR);
    // ENOENT: it is gone again. ENOSPC: the user's watches are used up. Looking now and then helps.
    if (watch >= 0) present.emplace(watch, folder);
  }
  for (const auto& [watch, folder] : watches_) {
    if (!present.contains(watch)) ::inotify_rm_watch(inotify_.get(), watch);
  }
  watches_ = std::move(present);
}

void CertificateWatch::load() {
  const std::vector<CertificateInUse> before = in_use();
  const Result<void, std::string> loaded = options_.reload();
  failed_ = !loaded;
  if (!loaded) {
    options_.log(Severity::error,
                 fmt::format("the changed certificates are not used, the ones before stay: {}",
                             loaded.error()));
    return;
  }
  take_certificates();
  say_loaded(before);
}

void CertificateWatch::say_loaded(const std::vector<CertificateInUse>& before) const {
  bool any = false;
  for (const CertificateInUse& one : in_use()) {
    const bool same = std::ranges::any_of(before, [&](const CertificateInUse& other) {
      return other.file == one.file && other.fingerprint == one.fingerprint;
    });
    if (same) continue;
    any = true;
    options_.log(Severity::info, fmt::format("loaded the certificate {}, which expires on {}",
                                             one.file, day_of(one.end_s)));
  }
  // A key, a chain, an OCSP response or another file has changed.
  if (!any) options_.log(Severity::info, "loaded the certificates anew");
}

void CertificateWatch::take_certificates() {
  std::vector<CertificateInUse> certificates = certificates_in_use(changes_.files());
  for (CertificateInUse& one : certificates) {
    one.renews_itself = options_.renewed.contains(one.file);
  }
  expiry_.set(certificates, options_.unix_s());
  const std::lock_guard lock(mutex_);
  in_use_ = std::move(certificates);
}

void CertificateWatch::warn() {
  for (const CertificateExpiry::Line& line : expiry_.due(options_.unix_s())) {
    options_.log(line.severity, line.text);
  }
}

}  // namespace h2server::app
