#include "base/log.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <csignal>
#include <ctime>
#include <mutex>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log_fold.h"
#include "base/text/harmless_text.h"

namespace h2server::base {

namespace {
std::string_view prefix(Severity severity) {
  switch (severity) {
    case Severity::info:
      return "h2server: ";
    case Severity::warning:
      return "h2server: warning: ";
    case Severity::error:
      return "h2server: error: ";
  }
  return {};
}
// Blocks SIGPIPE during its lifetime. A write to a closed pipe raises it in the writing thread.
// consume() removes it, so that the program's handling of SIGPIPE need not be known or changed.
class HeldPipeSignal {
 public:
  HeldPipeSignal() noexcept {
    sigset_t pending;
    sigemptyset(&pending);
    ::sigpending(&pending);
    // A signal that is pending already is blocked and not ours to consume.
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  HeldPipeSignal(const HeldPipeSignal&) = delete;
  HeldPipeSignal& operator=(const HeldPipeSignal&) = delete;
  ~HeldPipeSignal() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  // Consumes the signal that a write has just raised. An ignored signal is not pending.
  void consume() const noexcept {
    if (was_pending_) return;
    constexpr timespec at_once{};
    while (::sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

// Where lines go.
struct Log {
  std::atomic<int> descriptor{STDERR_FILENO};
  std::mutex file_mutex;  // guards the next two
  // Stays open, and the number stays the same, because another thread may be about to write there:
  // a new file takes its place.
  int file = -1;
  std::array<char, PATH_MAX> path{};
  std::mutex fold_mutex;
  LogFold fold;
};
constinit Log the_log;

// Room for "2026-11-24T18:22:51Z ".
using TimeText = std::array<char, 24>;

// The C library's calendar functions may take locks and allocate.
std::string_view time_text(TimeText& room) noexcept {
  const std::chrono::sys_seconds now{std::chrono::seconds{unix_seconds()}};
  const auto days = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date{days};
  const std::chrono::hh_mm_ss time{now - days};
  char* to = room.data();
  const auto put = [&to](std::int64_t value, int digits, char end) {
    for (int at = digits; at > 0; --at, value /= 10)
      to[at - 1] = static_cast<char>('0' + value % 10);
    to += digits;
    *to++ = end;
  };
  put(static_cast<int>(date.year()), 4, '-');
  put(static_cast<unsigned>(date.month()), 2, '-');
  put(static_cast<unsigned>(date.day()), 2, 'T');
  put(time.hours().count(), 2, ':');
  put(time.minutes().count(), 2, ':');
  put(time.seconds().count(), 2, 'Z');
  *to++ = ' ';
  return {room.data(), static_cast<std::size_t>(to - room.data())};
}

// Returns false if the line could not be written: a closed pipe or a full disk must not stop the
// server.
bool write_line(Severity severity, std::string_view text, std::string_view note = {}) noexcept {
  const int descriptor = the_log.descriptor.load(std::memory_order_relaxed);
  TimeText room;
  const std::string_view time = descriptor == STDERR_FILENO ? std::string_view() : time_text(room);
  const auto piece = [](std::string_view part) {
    return iovec{const_cast<char*>(part.data()), part.size()};
  };
  const std::array<iovec, 5> line{piece(time), piece(prefix(severity)), piece(text), piece(note),
                                  piece("\n")};
  const HeldPipeSignal held;
  const ssize_t written = ::writev(descriptor, line.data(), line.size());
  if (written < 0 && errno == EPIPE) held.consume();
  return written >= 0;
}

void write_repeated(const LogFold::Repeated& line) noexcept {
  if (line.times == 0) return;
  std::array<char, 48> room;
  std::string_view begin = " (repeated ";
  std::string_view end = line.times == 1 ? " time)" : " times)";
  char* to = room.data() + begin.copy(room.data(), begin.size());
  to = std::to_chars(to, room.data() + room.size() - end.size(), line.times).ptr;
  to += end.copy(to, end.size());
  write_line(static_cast<Severity>(line.kind), line.text,
             {room.data(), static_cast<std::size_t>(to - room.data())});
}

int open_file(const char* path, Fd& file) noexcept {
  constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY |
                        O_NONBLOCK;  // a FIFO without a reader: ENXIO
  constexpr mode_t mode = 0640;
  file = Fd(::open(path, flags, mode));
  return file.valid() ? 0 : errno;
}

// Lets lines go to `file`. The caller holds file_mutex.
int adopt(Fd file) noexcept {
  if (the_log.file < 0) {
    the_log.file = file.release();
  } else {
    while (::dup3(file.get(), the_log.file, O_CLOEXEC) < 0) {
      // EBUSY: a race with an open() elsewhere (dup(2)).
      if (errno != EINTR && errno != EBUSY) return errno;
    }
  }
  the_log.descriptor.store(the_log.file);
  return 0;
}
}  // namespace

void log_line(Severity severity, std::string_view text) noexcept {
  std::array<char, 4096> room;
  const bool has_lines = severity == Severity::info && text.contains('\n');  // a report
  if (!has_lines) text = harmless_text(text, room);
  const std::unique_lock lock(the_log.fold_mutex, std::try_to_lock);
  // Another thread is writing, or was when this process was forked.
  if (!lock.owns_lock()) {
    write_line(severity, text);
    return;
  }
  // What the operator asks for, such as the counters of SIGUSR1, is written each time.
  if (severity == Severity::info) {
    write_repeated(the_log.fold.take());
    the_log.fold.forget();
    write_line(severity, text);
    return;
  }
  const std::int64_t now_ms = monotonic_ms();
  const auto kind = static_cast<std::uint8_t>(severity);
  LogFold& fold = the_log.fold;
  if (fold.counts(kind, text, now_ms)) return;
  write_repeated(fold.take());
  if (write_line(severity, text)) {
    fold.written(kind, text, now_ms);
  } else {
    fold.forget();
  }
}

namespace {
void flush(bool only_if_due) noexcept {
  const std::unique_lock lock(the_log.fold_mutex, std::try_to_lock);
  if (!lock.owns_lock()) return;
  if (only_if_due && !the_log.fold.is_due(monotonic_ms())) return;
  write_repeated(the_log.fold.take());
  the_log.fold.forget();
}
}  // namespace

void flush_log() noexcept { flush(false); }

void flush_due_log() noexcept { flush(true); }

int log_to_file(std::string_view path) noexcept {
  const std::scoped_lock lock(the_log.file_mutex);
  if (path.size() >= the_log.path.size()) return ENAMETOOLONG;
  if (path.empty()) {
    the_log.descriptor.store(STDERR_FILENO);
    the_log.path[0] = '\0';
    return 0;
  }
  std::array<char, PATH_MAX> name{};
  path.copy(name.data(), path.size());
  Fd file;
  int code = open_file(name.data(), file);
  if (code == 0) code = adopt(std::move(file));
  if (code == 0) the_log.path = name;
  return code;
}

int reopen_log() noexcept {
  const std::scoped_lock lock(the_log.file_mutex);
  if (the_log.path[0] == '\0') return 0;
  Fd file;
  const int code = open_file(the_log.path.data(), file);
  return code != 0 ? code : adopt(std::move(file));
}

}  // namespace h2server::base
