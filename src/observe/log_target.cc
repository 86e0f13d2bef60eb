#include "observe/log_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/log.h"

namespace h2server::observe {

namespace {
constexpr std::size_t batch_bytes = std::size_t{64} << 10;       // more are written at once
constexpr std::size_t write_bytes = std::size_t{256} << 10;      // at most by one call
constexpr std::size_t pending_bytes_max = std::size_t{1} << 20;  // some seconds of a full disk
constexpr std::size_t idle_bytes_max = std::size_t{4} << 10;     // a site that logs now and then
constexpr std::int64_t retry_ms = 100;
constexpr std::int64_t rotate_retry_ms = 10'000;
constexpr std::int64_t target_report_ms = 10'000;

std::uint64_t lines_of(std::string_view text) {
  return static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
}

// The bytes behind the last end of a line.
std::size_t unfinished_bytes(std::string_view text) {
  const std::size_t end = text.rfind('\n');
  return end == text.npos ? text.size() : text.size() - end - 1;
}

// Returns how many bytes to write by one call: whole lines, because others may append to the file,
// such as the log of the configuration that this one replaces.
std::size_t piece_of(std::string_view lines) {
  if (lines.size() <= write_bytes) return lines.size();
  const std::size_t whole = write_bytes - unfinished_bytes(lines.substr(0, write_bytes));
  return whole > 0 ? whole : write_bytes;
}
}  // namespace

Result<void> LogTarget::open() {
  const Result<void> opened = open_output();
  if (opened) first_ = LogOutput::identity_of(spec_.path);
  return opened;
}

bool LogTarget::is_same_file(const LogTarget& other) const noexcept {
  if (!first_ || first_ != other.first_) return false;
  // A file that was rotated away and removed may have left its inode to the other one.
  return LogOutput::identity_of(spec_.path) == LogOutput::identity_of(other.spec_.path);
}

Result<void> LogTarget::open_output() {
  Result<LogOutput> output = LogOutput::open(spec_.path, spec_.syslog_path);
  if (output) {
    adopt(std::move(*output));
  } else if (output.error().code != ENXIO) {
    return std::unexpected(output.error());
  }
  return {};
}

void LogTarget::adopt(LogOutput output) {
  output_ = std::move(output);
  size_ = output_.size();
  half_line_bytes_ = 0;
  blocked_ = false;
  retry_at_ms_ = 0;
}

void LogTarget::append(std::string_view lines, std::int64_t now_ms) {
  const bool many = lines.size() + pending_.size() >= batch_bytes;
  if (many && !blocked_) flush(now_ms);
  if (lines.size() >= batch_bytes && !has_pending()) lines = write_some(lines, now_ms);
  keep(lines);
  if (gone_) leave();
}

void LogTarget::flush(std::int64_t now_ms) {
  if (!has_pending()) return;
  const std::size_t rest = write_some(pending_, now_ms).size();
  pending_.erase(0, pending_.size() - rest);
  if (pending_.empty() && pending_.capacity() > idle_bytes_max) pending_.shrink_to_fit();
  if (gone_) leave();
}

std::string_view LogTarget::write_some(std::string_view lines, std::int64_t now_ms) {
  if (now_ms < retry_at_ms_) return lines;
  if (!output_.is_open()) {
    const Result<void> opened = open_output();
    if (!opened || !output_.is_open()) {
      fail(opened ? ENXIO : opened.error().code, now_ms);
      return lines;
    }
  }
  while (!lines.empty()) {
    const std::size_t room = room_for(lines);
    if (room == 0 && now_ms >= rotate_at_ms_) {
      rotate(now_ms);
      continue;
    }
    const std::string_view piece = lines.substr(0, room == 0 ? piece_of(lines) : room);
    const Result<std::size_t> written = output_.write(piece);
    if (!written && written.error().code == EINTR) continue;
    if (!written) {
      fail(written.error().code, now_ms);
      return lines;
    }
    const std::string_view done = lines.substr(0, *written);
    const std::size_t unfinished = unfinished_bytes(done);
    half_line_bytes_ = unfinished == done.size() ? half_line_bytes_ + unfinished : unfinished;
    bytes_.set(bytes_.get() + done.size());
    size_ += done.size();
    lines.remove_prefix(done.size());
    blocked_ = false;
    error_ = 0;
  }
  return lines;
}

std::size_t LogTarget::room_for(std::string_view lines) const noexcept {
  const bool rotates = spec_.rotate_bytes != 0 && output_.is_regular() && spec_.path != "-";
  if (!rotates || half_line_bytes_ != 0) return piece_of(lines);
  const std::size_t left =
      size_ < spec_.rotate_bytes ? static_cast<std::size_t>(spec_.rotate_bytes - size_) : 0;
  if (lines.size() <= left) return piece_of(lines);
  const std::string_view fitting = lines.substr(0, std::min(left, write_bytes));
  const std::size_t whole = fitting.size() - unfinished_bytes(fitting);
  if (whole > 0 || size_ > 0) return whole;
  return std::min(lines.find('\n') + 1, write_bytes);  // a file has one line at least
}

void LogTarget::keep(std::string_view lines) {
  if (lines.size() > pending_bytes_max - std::min(pending_.size(), pending_bytes_max)) {
    std::string_view kept = lines.substr(0, pending_bytes_max - pending_.size());
    kept.remove_suffix(unfinished_bytes(kept));
    lose(lines.substr(kept.size()));
    // Without the rest of the line that is half written, its beginning has to go, too.
    if (kept.empty() && pending_.empty()) cut_written();
    lines = kept;
  }
  pending_.append(lines);
}

void LogTarget::lose(std::string_view lines) { lost_.set(lost_.get() + lines_of(lines)); }

void LogTarget::fail(int code, std::int64_t now_ms) {
  error_ = code;
  blocked_ = code == EAGAIN;
  if (blocked_) return;
  errors_.up();
  retry_at_ms_ = now_ms + retry_ms;
  // A FIFO whose reader has left, or a receiver that was restarted, is opened anew. The pipe that
  // is standard output cannot be.
  const bool gone = code == EPIPE || code == ECONNREFUSED || code == ENOTCONN || code == ECONNRESET;
  gone_ = gone && spec_.path != "-";
}

void LogTarget::leave() {
  drop_half_line();
  output_ = LogOutput();
  gone_ = false;
}

void LogTarget::drop_half_line() {
  if (half_line_bytes_ == 0) return;
  const std::size_t end = std::min(pending_.find('\n'), pending_.size());
  lose(std::string_view(pending_).substr(0, end + 1));
  pending_.erase(0, end + 1);
  cut_written();
}

void LogTarget::cut_written() {
  if (half_line_bytes_ == 0) return;
  if (output_.is_regular()) output_.cut(half_line_bytes_);
  size_ -= std::min<std::uint64_t>(size_, half_line_bytes_);
  half_line_bytes_ = 0;
}

void LogTarget::rotate(std::int64_t now_ms) {
  const auto name = [this](unsigned number) { return fmt::format("{}.{}", spec_.path, number); };
  // Another process with the same log may have done it.
  if (!output_.was_moved(spec_.path)) {
    for (unsigned number = spec_.rotated_files_max; number > 1; --number) {
      // Fails if that file does not exist yet. What else may be wrong shows in the next call.
      std::rename(name(number - 1).c_str(), name(number).c_str());
    }
    const int result = spec_.rotated_files_max == 0
                           ? std::remove(spec_.path.c_str())
                           : std::rename(spec_.path.c_str(), name(1).c_str());
    if (result != 0) {
      errors_.up();
      rotate_at_ms_ = now_ms + rotate_retry_ms;
      base::log_error("cannot rotate the log {}: {}", spec_.path, std::strerror(errno));
      return;
    }
  }
  Result<LogOutput> output = LogOutput::open(spec_.path, spec_.syslog_path);
  if (output) {
    adopt(std::move(*output));
    return;
  }
  errors_.up();
  rotate_at_ms_ = now_ms + rotate_retry_ms;
  base::log_error("cannot open the log {} after its rotation: {}", spec_.path,
                  std::strerror(output.error().code));
}

void LogTarget::reopen(std::int64_t now_ms) {
  if (spec_.path == "-") return;
  retry_at_ms_ = 0;
  Result<LogOutput> output = LogOutput::open(spec_.path, spec_.syslog_path);
  if (!output) {
    errors_.up();
    base::log_error("cannot reopen the log {}: {}", spec_.path, std::strerror(output.error().code));
    return;
  }
  flush(now_ms);
  drop_half_line();
  adopt(std::move(*output));
}

void LogTarget::report(std::int64_t now_ms) {
  if (now_ms < report_at_ms_) return;
  const std::uint64_t lost = lost_.get() - lost_reported_;
  // A full pipe is worth a line when it has cost lines.
  const bool failing = error_ != 0 && error_ != EAGAIN;
  if (lost == 0 && !failing) {
    if (error_reported_ && error_ == 0) base::log_info("the log {} is written again", spec_.path);
    error_reported_ = error_reported_ && error_ != 0;
    return;
  }
  base::log_error("cannot write the log {}: {}; lines lost: {}", spec_.path,
                  error_ == 0        ? "there was no time"
                  : error_ == EAGAIN ? "its reader is too slow"
                                     : std::strerror(error_),
                  lost);
  lost_reported_ += lost;
  error_reported_ = true;
  report_at_ms_ = now_ms + target_report_ms;
}

void LogTarget::close(std::int64_t now_ms) {
  drop_half_line();
  lose(pending_);
  pending_.clear();
  report_at_ms_ = std::min(report_at_ms_, now_ms);
  if (lost_.get() != lost_reported_) report(now_ms);
  output_ = LogOutput();
}

TargetStats LogTarget::stats() const noexcept { return {bytes_.get(), lost_.get(), errors_.get()}; }

}  // namespace h2server::observe
