#include "app/admin/trace_sender.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/system/start_thread.h"
#include "base/log.h"
#include "observe/url_parts.h"

namespace h2server::app {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds log_pause{10};
constexpr std::chrono::seconds retry_after_max{60};  // a collector must not silence it for a day
constexpr std::size_t collector_bytes_max = 64 * 1024;

// Those that the OTLP specification lists under "Retryable Response Codes".
bool is_retryable(int status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

}  // namespace

TraceSender::TraceSender(TraceSenderOptions options) : options_(std::move(options)) {}

TraceSender::~TraceSender() { stop(); }

void TraceSender::start() {
  Result<std::thread, std::string> thread = start_thread([this] { run(); });
  if (thread) {
    thread_ = *std::move(thread);
    return;
  }
  base::log_error("traces are not sent: {}", thread.error());
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  dropped_.fetch_add(queue_.size(), std::memory_order_relaxed);
  queue_.clear();
}

void TraceSender::offer(observe::Span span) {
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_ && queue_.size() < options_.queued_max) {
      queue_.push_back(std::move(span));
      count = queue_.size();
    }
  }
  if (count == 0) dropped_.fetch_add(1, std::memory_order_relaxed);
  // Only what the thread waits for: that a batch begins, and that it is full.
  if (count == 1 || count == options_.batch_max) changed_.notify_one();
}

void TraceSender::stop() noexcept {
  const auto end = steady_clock::now() + options_.flush_max;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
    end_ = end;
  }
  changed_.notify_one();
  client_.limit(end);
  if (thread_.joinable()) thread_.join();
}

TraceSender::Counts TraceSender::counts() const noexcept {
  return {.sent = sent_.load(std::memory_order_relaxed),
          .dropped = dropped_.load(std::memory_order_relaxed),
          .failed = failed_.load(std::memory_order_relaxed)};
}

std::size_t TraceSender::queued() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void TraceSender::run() {
  std::vector<observe::Span> taken;
  while (take(taken)) {
    for (std::span<const observe::Span> rest = taken; !rest.empty();) {
      const std::size_t size = std::min(rest.size(), options_.batch_max);
      send(rest.first(size));
      rest = rest.subspan(size);
    }
  }
}

// Takes all spans, once there are enough for a batch or the first one has waited. Returns false
// once everything is sent after stop().
bool TraceSender::take(std::vector<observe::Span>& taken) {
  taken.clear();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  changed_.wait_for(lock, options_.batch_wait,
                    [this] { return stopping_ || queue_.size() >= options_.batch_max; });
  std::swap(taken, queue_);
  return !taken.empty();
}

void TraceSender::send(std::span<const observe::Span> batch) {
  const HttpRequest request{.url = options_.endpoint,
                            .fields = {"Content-Type: application/x-protobuf"},
                            .body = observe::encode_export(batch, options_.resource),
                            .time_max = options_.time_max,
                            .response_bytes_max = collector_bytes_max};
  milliseconds backoff = options_.first_retry;
  for (unsigned tries = 1;; ++tries, backoff *= 2) {
    milliseconds wait = backoff;
    const Outcome outcome = try_once(request, wait);
    if (outcome == Outcome::sent) {
      sent_.fetch_add(batch.size(), std::memory_order_relaxed);
      return;
    }
    if (outcome == Outcome::refused || tries >= options_.tries || !sleep(wait)) break;
  }
  failed_.fetch_add(batch.size(), std::memory_order_relaxed);
}

// Sets `wait` if the collector says when it wants the next try.
TraceSender::Outcome TraceSender::try_once(const HttpRequest& request, milliseconds& wait) {
  const auto response = client_.fetch(request);
  if (!response) {
    report(response.error());
    return Outcome::retry;
  }
  if (response->status >= 200 && response->status < 300) return Outcome::sent;
  report(fmt::format("it answers {}", response->status));
  if (!is_retryable(response->status)) return Outcome::refused;
  if (response->retry_after) wait = std::min(*response->retry_after, retry_after_max);
  return Outcome::retry;
}

// Returns false if `time` would end after stop() has to.
bool TraceSender::sleep(milliseconds time) {
  const auto until = steady_clock::now() + time;
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until, [this, until] { return stopping_ && until > end_; });
  return until <= end_;
}

void TraceSender::report(std::string_view reason) {
  const auto now = steady_clock::now();
  if (logged_ != steady_clock::time_point::min() && now - logged_ < log_pause) return;
  logged_ = now;
  const Counts counts = this->counts();
  const observe::PublicUrl url = observe::without_user_info(options_.endpoint);
  base::log_warning(
      "traces: cannot send to {}{}: {} ({} spans sent, {} given up, {} dropped so far)", url.scheme,
      url.rest, reason, counts.sent, counts.failed, counts.dropped);
}

}  // namespace h2server::app
