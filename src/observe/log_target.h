// LogTarget: one place that log lines go to, whatever becomes of it.
//
// Lines that cannot be written at once are kept up to a limit; when it is reached, new lines are
// lost and counted. Errors are reported to the error log once in 10 seconds. Writing resumes by
// itself. A line is never left unfinished in a file: its rest is written first, or its beginning is
// cut off.
//
// Used by the log's thread; stats() and is_same_file() by any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/counter.h"
#include "observe/log_output.h"

namespace h2server::observe {

struct TargetSpec {
  std::string path;                // a file, "-" for standard output, or "syslog"
  std::uint64_t rotate_bytes = 0;  // a file that would grow beyond is renamed; 0: never
  unsigned rotated_files_max = 5;  // FILE.1, the newest, to FILE.5; 0: the file is removed
  std::string syslog_path = "/dev/log";
};

struct TargetStats {
  std::uint64_t bytes = 0;   // written
  std::uint64_t lost = 0;    // lines that could not be written
  std::uint64_t errors = 0;  // calls that failed, but for full pipes
};

class LogTarget {
 public:
  explicit LogTarget(TargetSpec spec) : spec_(std::move(spec)) {}

  // Opens the output, once. A FIFO without a reader is not an error: it is opened later.
  Result<void> open();

  // Takes whole lines: keeps few of them until flush(), writes many at once.
  void append(std::string_view lines, std::int64_t now_ms);
  void flush(std::int64_t now_ms);

  // Opens the path anew. On failure, reports it and keeps what is open.
  void reopen(std::int64_t now_ms);

  // Writes a report if one is due.
  void report(std::int64_t now_ms);
  // The last call: counts what is kept as lost.
  void close(std::int64_t now_ms);

  [[nodiscard]] bool has_pending() const noexcept { return !pending_.empty(); }
  // Where to wait for room; -1: there is something else to wait for, or nothing.
  [[nodiscard]] int blocked_descriptor() const noexcept {
    return has_pending() && blocked_ ? output_.descriptor() : -1;
  }
  [[nodiscard]] const TargetSpec& spec() const noexcept { return spec_; }
  // Returns true if the paths of both, which are open, lead to the same file, FIFO or device: as a
  // link, "./log" or "-" may. Two such targets would cut each other's lines. Any thread.
  [[nodiscard]] bool is_same_file(const LogTarget& other) const noexcept;
  [[nodiscard]] TargetStats stats() const noexcept;

 private:
  // Writes as much of `lines` as possible; returns the rest.
  std::string_view write_some(std::string_view lines, std::int64_t now_ms);
  // How many bytes of `lines` the file takes before it is to be rotated; 0: rotate it now.
  [[nodiscard]] std::size_t room_for(std::string_view lines) const noexcept;
  void keep(std::string_view lines);
  void lose(std::string_view lines);
  void rotate(std::int64_t now_ms);
  Result<void> open_output();
  void adopt(LogOutput output);
  void fail(int code, std::int64_t now_ms);
  // Closes an output whose reader has gone.
  void leave();
  // Gives up the line of which only a part was written.
  void drop_half_line();
  // Removes that part from a file.
  void cut_written();

  const TargetSpec spec_;
  LogOutput output_;
  std::uint64_t size_ = 0;           // of a regular file
  std::string pending_;              // from where writing has stopped
  std::size_t half_line_bytes_ = 0;  // written of the line whose rest begins pending_
  bool blocked_ = false;             // a full pipe
  bool gone_ = false;                // to be closed, and opened anew later
  int error_ = 0;                    // why the last write failed; 0: it did not
  std::int64_t retry_at_ms_ = 0;
  std::int64_t rotate_at_ms_ = 0;  // not before: the last attempt failed
  std::int64_t report_at_ms_ = 0;
  std::uint64_t lost_reported_ = 0;
  bool error_reported_ = false;
  base::Counter bytes_;
  base::Counter lost_;
  base::Counter errors_;
  std::optional<FileIdentity> first_;  // what open() found; constant from then on
};

}  // namespace h2server::observe
