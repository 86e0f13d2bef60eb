#include "observe/log_writer.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/signals_blocked.h"

namespace h2server::observe {

namespace {
constexpr int light_sleep_ms = 50;   // `tail -f` shows a line within it
constexpr int deep_sleep_ms = 1000;  // nothing is logged; bounds what a missed bell would cost
constexpr int retry_sleep_ms = 100;  // lines wait for a disk
constexpr std::int64_t stop_ms_max = 900;
constexpr std::int64_t report_ms = 10'000;

}  // namespace

Result<std::uint32_t> LogWriter::add_target(TargetSpec spec) {
  const std::scoped_lock lock(mutex_);
  for (std::size_t at = 0; at < targets_.size(); ++at) {
    if (targets_[at]->spec().path == spec.path) return static_cast<std::uint32_t>(at);
  }
  auto target = std::make_unique<LogTarget>(std::move(spec));
  const Result<void> opened = target->open();
  if (!opened) return std::unexpected(opened.error());
  for (std::size_t at = 0; at < targets_.size(); ++at) {
    if (targets_[at]->is_same_file(*target)) return static_cast<std::uint32_t>(at);
  }
  targets_.push_back(std::move(target));
  return static_cast<std::uint32_t>(targets_.size() - 1);
}

Result<LogRing*> LogWriter::make_ring(LogRing::Sharing sharing, std::size_t bytes) {
  Result<std::unique_ptr<LogRing>> ring = LogRing::make(sharing, bell_, bytes);
  if (!ring) return std::unexpected(ring.error());
  const std::scoped_lock lock(mutex_);
  return rings_.emplace_back(std::move(*ring)).get();
}

Result<void> LogWriter::start() {
  ASSERT(!thread_.joinable());
  const Result<void> opened = bell_.open();
  if (!opened) return opened;
  const base::SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    return std::unexpected(Error{error.code().value(), "cannot start the log's thread"});
  }
  ::pthread_setname_np(thread_.native_handle(), "log");
  return {};
}

void LogWriter::reopen() noexcept {
  reopens_.store(true);
  bell_.ring();
}

void LogWriter::stop() noexcept {
  if (!thread_.joinable()) return;
  stops_.store(true);
  bell_.ring();
  thread_.join();
}

void LogWriter::run() {
  unsigned idle_turns = 0;
  std::int64_t stop_at_ms = 0;
  while (true) {
    const std::int64_t now_ms = base::monotonic_ms();
    const bool stops = stops_.load();
    if (stops && stop_at_ms == 0) stop_at_ms = now_ms + stop_ms_max;
    const bool reopens = reopens_.exchange(false);
    refresh();
    const bool moved = drain(now_ms);
    for (LogTarget* const target : targets_seen_) target->flush(now_ms);
    if (reopens) {
      for (LogTarget* const target : targets_seen_) target->reopen(now_ms);
    }
    report(now_ms);
    const bool pending = has_pending();
    if (stops && ((!moved && !pending) || now_ms >= stop_at_ms)) break;
    idle_turns = moved || pending ? 0 : idle_turns + 1;
    if (stops && moved) continue;
    // The first deep sleep is short: a line that is appended while the sleep begins may be missed.
    const auto how = idle_turns == 0 ? LogBell::Sleep::light : LogBell::Sleep::deep;
    const int timeout_ms = stops               ? 10
                           : idle_turns > 1    ? deep_sleep_ms
                           : pending && !moved ? retry_sleep_ms
                                               : light_sleep_ms;
    sleep(how, timeout_ms, stops);
  }
  close_all(base::monotonic_ms());
}

void LogWriter::refresh() {
  const std::scoped_lock lock(mutex_);
  for (std::size_t at = targets_seen_.size(); at < targets_.size(); ++at) {
    targets_seen_.push_back(targets_[at].get());
  }
  for (std::size_t at = rings_seen_.size(); at < rings_.size(); ++at) {
    rings_seen_.push_back(rings_[at].get());
  }
}

// Moves what is in the rings now to the targets. Returns true if there was anything.
bool LogWriter::drain(std::int64_t now_ms) {
  bool moved = false;
  for (LogRing* const ring : rings_seen_) {
    std::size_t left = ring->size();  // what comes meanwhile waits until the others had their turn
    while (left > 0) {
      const LogRing::Batch batch = ring->front();
      if (batch.target >= targets_seen_.size()) return moved;  // added just now: see refresh()
      targets_seen_[batch.target]->append(batch.lines, now_ms);
      ring->pop(batch.lines.size());
      left -= std::min(left, batch.lines.size());
      moved = true;
    }
  }
  return moved;
}

bool LogWriter::has_pending() const noexcept {
  return std::ranges::any_of(targets_seen_, &LogTarget::has_pending);
}

bool LogWriter::has_work(LogBell::Sleep how) const noexcept {
  return reopens_.load() || std::ranges::any_of(rings_seen_, [how](const LogRing* ring) {
           return how == LogBell::Sleep::deep ? ring->size() > 0 : ring->is_urgent();
         });
}

void LogWriter::sleep(LogBell::Sleep how, int timeout_ms, bool stops) {
  std::vector<pollfd> waits{{bell_.descriptor(), POLLIN, 0}};
  for (const LogTarget* const target : targets_seen_) {
    const int descriptor = target->blocked_descriptor();
    if (descriptor >= 0) waits.push_back({descriptor, POLLOUT, 0});
  }
  bell_.lie_down(how);
  // The bell may have been rung before the thread lay down.
  if (!has_work(how) && stops_.load() == stops) {
    // Errors (EINTR, ENOMEM) and timeouts end the sleep, too.
    [[maybe_unused]] const int ready = ::poll(waits.data(), waits.size(), timeout_ms);
  }
  bell_.rise();
}

void LogWriter::report(std::int64_t now_ms) {
  base::flush_due_log();
  for (LogTarget* const target : targets_seen_) target->report(now_ms);
  if (now_ms < report_at_ms_) return;
  const std::uint64_t dropped = stats().dropped;
  if (dropped == dropped_reported_) return;
  base::log_error("the access log is written too slowly; lines lost: {}",
                  dropped - dropped_reported_);
  dropped_reported_ = dropped;
  report_at_ms_ = now_ms + report_ms;
}

void LogWriter::close_all(std::int64_t now_ms) {
  report_at_ms_ = 0;
  report(now_ms);
  for (LogTarget* const target : targets_seen_) target->close(now_ms);
}

LogWriter::Stats LogWriter::stats() const {
  const std::scoped_lock lock(mutex_);
  Stats sum;
  for (const auto& ring : rings_) {
    sum.accepted += ring->accepted();
    sum.dropped += ring->dropped();
  }
  for (const auto& target : targets_) {
    const TargetStats stats = target->stats();
    sum.lost += stats.lost;
    sum.bytes += stats.bytes;
    sum.errors += stats.errors;
  }
  return sum;
}

}  // namespace h2server::observe
