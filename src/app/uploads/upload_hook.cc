#include "app/uploads/upload_hook.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "app/system/run_program.h"
#include "app/system/start_thread.h"
#include "app/uploads/hook_program.h"
#include "base/log.h"
#include "h2server/json.h"
#include "observe/url_parts.h"

namespace h2server::app {

namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds hook_log_pause{10};
constexpr std::size_t hook_answer_bytes_max = 64 * 1024;

bool is_url(std::string_view target) {
  return target.starts_with("http://") || target.starts_with("https://");
}

std::string json_of(const content::UploadEvent& event) {
  return fmt::format(R"({{"path":{},"name":{},"size":{},"sha256":{},"client":{}}})",
                     json_string(event.path), json_string(event.name), event.size,
                     json_string(event.sha256), json_string(event.client));
}

// For messages: without the secrets that a URL may have.
std::string target_text(const std::string& target, bool is_url) {
  if (!is_url) return target;
  const observe::PublicUrl url = observe::without_user_info(target);
  return fmt::format("{}{}", url.scheme, url.rest.substr(0, url.rest.find('?')));
}

}  // namespace

UploadHook::UploadHook(UploadHookOptions options)
    : options_(std::move(options)),
      is_url_(is_url(options_.target)),
      stopped_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

UploadHook::~UploadHook() { stop(); }

Result<std::string, std::string> UploadHook::find_program(const std::string& target) {
  if (is_url(target)) return std::string();
  const std::optional<std::string> found =
      target.contains('/') ? target : app::find_program(target);
  struct stat status{};
  const bool fits = found && ::stat(found->c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
                    ::access(found->c_str(), X_OK) == 0;
  if (fits) return *found;
  return std::unexpected(
      fmt::format("the upload hook {} is neither a program nor a URL of http or https", target));
}

Result<void, std::string> UploadHook::start() {
  Result<std::string, std::string> program = find_program(options_.target);
  if (!program) return std::unexpected(std::move(program.error()));
  program_ = *std::move(program);
  Result<std::thread, std::string> thread = start_thread([this] { run(); });
  if (!thread) {
    return std::unexpected(
        fmt::format("upload hook {}: {}", target_text(options_.target, is_url_), thread.error()));
  }
  thread_ = *std::move(thread);
  return {};
}

void UploadHook::offer(content::UploadEvent event) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_ && queue_.size() < options_.queued_max) {
      queue_.push_back(std::move(event));
      changed_.notify_one();
      return;
    }
  }
  count_dropped();
}

content::UploadSink UploadHook::sink() {
  return [this](const content::UploadEvent& event) { offer(event); };
}

void UploadHook::stop() noexcept {
  const auto end = Clock::now() + options_.flush_max;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
    end_ = end;
  }
  changed_.notify_one();
  client_.limit(end);
  if (stopped_.valid()) ::eventfd_write(stopped_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

UploadHook::Counts UploadHook::counts() const noexcept {
  return {.reported = reported_.load(std::memory_order_relaxed),
          .dropped = dropped_.load(std::memory_order_relaxed),
          .failed = failed_.load(std::memory_order_relaxed)};
}

void UploadHook::run() {
  content::UploadEvent event;
  while (take(event)) report(event);
}

// Returns false once everything is reported after stop().
bool UploadHook::take(content::UploadEvent& event) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  if (queue_.empty()) return false;
  event = std::move(queue_.front());
  queue_.pop_front();
  return true;
}

void UploadHook::report(const content::UploadEvent& event) {
  std::string reason = "the server stops";
  milliseconds backoff = options_.first_retry;
  unsigned tries = 0;
  while (Clock::now() < end()) {
    ++tries;
    if (try_once(event, reason) == Outcome::done) {
      reported_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    if (tries >= options_.tries || !sleep(backoff)) break;
    backoff *= 2;
  }
  failed_.fetch_add(1, std::memory_order_relaxed);
  base::log_warning("upload hook {}: {}: {} ({} tr{})", target_text(options_.target, is_url_),
                    event.name, reason, tries, tries == 1 ? "y" : "ies");
}

UploadHook::Outcome UploadHook::try_once(const content::UploadEvent& event, std::string& reason) {
  return is_url_ ? post(event, reason) : run_program(event, reason);
}

UploadHook::Outcome UploadHook::post(const content::UploadEvent& event, std::string& reason) {
  const auto response = client_.fetch({.url = options_.target,
                                       .fields = {"Content-Type: application/json"},
                                       .body = json_of(event),
                                       .time_max = options_.time_max,
                                       .response_bytes_max = hook_answer_bytes_max});
  if (response && response->status >= 200 && response->status < 300) return Outcome::done;
  reason = response ? fmt::format("it answers {}", response->status) : response.error();
  return Outcome::retry;
}

UploadHook::Outcome UploadHook::run_program(const content::UploadEvent& event,
                                            std::string& reason) {
  const HookProgram program{
      .arguments = {program_, event.path},
      .environment = {"H2SERVER_UPLOAD_NAME=" + event.name, "H2SERVER_UPLOAD_PATH=" + event.path,
                      fmt::format("H2SERVER_UPLOAD_SIZE={}", event.size),
                      "H2SERVER_UPLOAD_SHA256=" + event.sha256,
                      "H2SERVER_UPLOAD_CLIENT=" + event.client}};
  const auto time_out = Clock::now() + options_.time_max;
  const auto done =
      run_hook_program(program, stopped_.get(), [&] { return std::min(time_out, end()); });
  if (done) return Outcome::done;
  reason = done.error();
  return Outcome::retry;
}

// Returns false if `time` would end after stop() has to.
bool UploadHook::sleep(milliseconds time) {
  const auto until = Clock::now() + time;
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until, [this, until] { return stopping_ && until > end_; });
  return until <= end_;
}

UploadHook::Clock::time_point UploadHook::end() {
  const std::lock_guard lock(mutex_);
  return end_;
}

void UploadHook::count_dropped() {
  const std::uint64_t dropped = dropped_.fetch_add(1, std::memory_order_relaxed) + 1;
  const auto now = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    const bool first = dropped_logged_ == Clock::time_point::min();
    if (!first && now - dropped_logged_ < hook_log_pause) return;
    dropped_logged_ = now;
  }
  base::log_warning("upload hook {}: an upload is not reported, since {} reports wait already; {} "
                    "are lost so far",
                    target_text(options_.target, is_url_), options_.queued_max, dropped);
}

}  // namespace h2server::app
