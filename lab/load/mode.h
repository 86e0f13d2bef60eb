// A load pattern: which connections exist, what is sent on them and when, and what is measured.
// run() drives a mode to its end.
//
// One thread. A mode owns its sessions and shares the tally with them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "load/options.h"
#include "load/report.h"
#include "load/session.h"

namespace h2server::lab::load {

class Mode : public SessionOwner {
 public:
  // The arguments must outlive the mode.
  Mode(const Options& options, SessionSetting& setting)
      : options_(options), setting_(setting), tally_(setting.tally) {}
  virtual ~Mode() = default;
  Mode(const Mode&) = delete;
  Mode& operator=(const Mode&) = delete;

  virtual void start() = 0;
  [[nodiscard]] virtual bool finished() const = 0;
  // Does the work that is due.
  virtual void tick(std::int64_t) {}
  // Returns the latest time for the next tick() (clock.h).
  [[nodiscard]] virtual std::int64_t next_tick_ns() const { return INT64_MAX; }
  // Returns true if tick() must be on time.
  [[nodiscard]] virtual bool precise() const { return false; }
  // Called several times per second.
  virtual void sweep(std::int64_t now_ns);
  // Returns the report fields specific to this mode.
  [[nodiscard]] virtual std::vector<ReportField> fields() const { return {}; }

  // Closes all connections, which adds their bytes to the tally.
  void close_all() { sessions_.clear(); }

 protected:
  // Adds sessions up to a total of `count` and opens the new ones.
  void open_sessions(std::size_t count);
  // Counts the outcome of an exchange. Returns true if it was as expected.
  bool count(const Outcome& outcome);

  const Options& options_;
  SessionSetting& setting_;
  Tally& tally_;
  std::deque<Session> sessions_;
};

std::unique_ptr<Mode> make_closed(const Options& options, SessionSetting& setting);
std::unique_ptr<Mode> make_open(const Options& options, SessionSetting& setting);
std::unique_ptr<Mode> make_exchange(const Options& options, SessionSetting& setting);
std::unique_ptr<Mode> make_churn(const Options& options, SessionSetting& setting);
std::unique_ptr<Mode> make_idle(const Options& options, SessionSetting& setting);

// Starts the mode and runs the loop until the mode has finished.
void run(Mode& mode, Loop& loop, std::int64_t timeout_ns);

}  // namespace h2server::lab::load
