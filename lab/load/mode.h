// A way to load a server: which connections there are, what is sent on them and when, and what of
// it is measured. `run()` drives one to its end.
//
// One thread. A mode owns its sessions and counts into the tally that it shares with them.
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
  // All outlive it.
  Mode(const Options& options, SessionSetting& setting)
      : options_(options), setting_(setting), tally_(setting.tally) {}
  virtual ~Mode() = default;
  Mode(const Mode&) = delete;
  Mode& operator=(const Mode&) = delete;

  virtual void start() = 0;
  [[nodiscard]] virtual bool finished() const = 0;
  // Does what is due.
  virtual void tick(std::int64_t) {}
  // When it is to do so at the latest (clock.h).
  [[nodiscard]] virtual std::int64_t next_tick_ns() const { return INT64_MAX; }
  // Whether tick() wants to be on time.
  [[nodiscard]] virtual bool precise() const { return false; }
  // Some times a second.
  virtual void sweep(std::int64_t now_ns);
  // What the report says of this mode alone.
  [[nodiscard]] virtual std::vector<ReportField> fields() const { return {}; }

  // Closes all connections, whose bytes are counted then.
  void close_all() { sessions_.clear(); }

 protected:
  // Adds sessions up to `count` and opens the new ones.
  void open_sessions(std::size_t count);
  // Counts what an exchange has come to; whether that is what was expected.
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

// Starts the mode and turns the loop until it has finished.
void run(Mode& mode, Loop& loop, std::int64_t timeout_ns);

}  // namespace h2server::lab::load
