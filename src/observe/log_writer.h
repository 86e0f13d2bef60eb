// LogWriter: the thread that writes the access log.
//
// It owns the rings, in which workers leave lines, and the targets, to which it writes them.
// Nothing that goes wrong with a target affects a worker or another target. It polls: a line is
// written within 50 ms, and a busy worker wakes the thread once in about a thousand lines.
//
// A forked process has neither the thread nor rings of its own: it must not append to a ring that
// it has inherited, and makes its own LogWriter.
//
// Any thread may call the functions; start() and stop() once each.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "h2server/result.h"
#include "observe/log_bell.h"
#include "observe/log_ring.h"
#include "observe/log_target.h"

namespace h2server::observe {

class LogWriter {
 public:
  struct Stats {
    std::uint64_t accepted = 0;  // lines that found room in a ring
    std::uint64_t dropped = 0;   // lines that did not
    std::uint64_t lost = 0;      // accepted lines that could not be written
    std::uint64_t bytes = 0;     // written
    std::uint64_t errors = 0;    // calls that failed
  };

  LogWriter() = default;
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;
  ~LogWriter() { stop(); }

  // Opens the target and returns its number, for LogRing::append(). Specs whose paths are names of
  // one file are one target, the first one. Fails if the path can't be opened; the Error is that of
  // the open.
  Result<std::uint32_t> add_target(TargetSpec spec);

  // The ring lives as long as the writer.
  Result<LogRing*> make_ring(LogRing::Sharing sharing, std::size_t bytes = LogRing::bytes_default);

  Result<void> start();
  // Opens all paths anew, soon: after a program has renamed the files.
  void reopen() noexcept;
  // Writes what there is, for a second at most, and ends the thread. Lines that come later are not
  // written.
  void stop() noexcept;

  [[nodiscard]] Stats stats() const;

 private:
  void run();
  void refresh();
  bool drain(std::int64_t now_ms);
  void sleep(LogBell::Sleep how, int timeout_ms, bool stops);
  [[nodiscard]] bool has_work(LogBell::Sleep how) const noexcept;
  [[nodiscard]] bool has_pending() const noexcept;
  void report(std::int64_t now_ms);
  void close_all(std::int64_t now_ms);

  LogBell bell_;
  mutable std::mutex mutex_;  // guards the two vectors; targets and rings stay where they are
  std::vector<std::unique_ptr<LogTarget>> targets_;
  std::vector<std::unique_ptr<LogRing>> rings_;
  std::atomic<bool> reopens_{false};
  std::atomic<bool> stops_{false};

  // The thread's own: what the vectors held when it looked last. It holds no lock while it writes.
  std::vector<LogTarget*> targets_seen_;
  std::vector<LogRing*> rings_seen_;
  std::int64_t report_at_ms_ = 0;
  std::uint64_t dropped_reported_ = 0;

  std::thread thread_;
};

}  // namespace h2server::observe
