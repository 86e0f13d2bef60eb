// Closed loop: every connection keeps its requests in flight until all are done.
#include <fmt/format.h>

#include "load/clock.h"
#include "load/mode.h"
#include "load/shares.h"

namespace h2server::lab::load {

namespace {

class ClosedMode final : public Mode {
 public:
  ClosedMode(const Options& options, SessionSetting& setting)
      : Mode(options, setting),
        shares_(options.requests, options.connections, options.weights),
        undone_(options.requests),
        opening_(options.connections),
        usable_(options.connections) {}

  void start() override;
  bool finished() const override { return undone_ == 0; }
  std::vector<ReportField> fields() const override;

  void opened(Session& session) override;
  void ended(Session& session, const Exchange& exchange, const Outcome& outcome) override;
  void closed(Session& session, ErrorKind error) override;

 private:
  void begin_when_all_are_open();
  void fill(Session& session, std::int64_t now_ns);
  void give_up(Session& session);

  Shares shares_;
  std::uint64_t undone_;
  std::uint64_t number_ = 0;
  std::size_t opening_;  // initial connections that are neither open nor given up
  std::size_t usable_;   // connections that are not given up
  bool begun_ = false;
  std::int64_t start_ns_ = 0;
  double connect_seconds_ = 0;
  std::uint64_t reconnects_ = 0;
};

void ClosedMode::start() {
  start_ns_ = now_ns();
  open_sessions(options_.connections);
}

// Sending starts when all are open. Otherwise the first connections would have the server alone.
void ClosedMode::begin_when_all_are_open() {
  if (--opening_ > 0) return;
  begun_ = true;
  tally_.start();
  connect_seconds_ =
      static_cast<double>(tally_.started_ns() - start_ns_) / static_cast<double>(ns_per_s);
  for (Session& session : sessions_) fill(session, tally_.started_ns());
}

void ClosedMode::fill(Session& session, std::int64_t now_ns) {
  while (session.room() > 0 && shares_.take(session.index())) {
    session.submit({.number = number_++, .intended_ns = now_ns, .sent_ns = now_ns});
  }
}

void ClosedMode::opened(Session& session) {
  if (begun_) {
    fill(session, session.now_ns());
    return;
  }
  begin_when_all_are_open();
}

void ClosedMode::ended(Session& session, const Exchange& exchange, const Outcome& outcome) {
  --undone_;
  if (count(outcome)) tally_.latency.record(to_us(session.now_ns() - exchange.sent_ns));
  fill(session, session.now_ns());
}

void ClosedMode::closed(Session& session, ErrorKind error) {
  if (error != ErrorKind::none) tally_.errors.add(error);
  if (!session.has_opened()) {
    give_up(session);
    return;
  }
  if (shares_.left(session.index()) == 0) return;
  ++reconnects_;
  session.open();
}

void ClosedMode::give_up(Session& session) {
  --usable_;
  if (!shares_.pooled() || usable_ == 0) {
    const std::uint64_t dropped = shares_.drop(session.index());
    tally_.errors.add(ErrorKind::unsent, dropped);
    undone_ -= dropped;
  }
  if (!begun_) begin_when_all_are_open();
}

std::vector<ReportField> ClosedMode::fields() const {
  return {{"connect_seconds", fmt::format("{:.6f}", connect_seconds_)},
          {"reconnects", fmt::format("{}", reconnects_)}};
}

}  // namespace

std::unique_ptr<Mode> make_closed(const Options& options, SessionSetting& setting) {
  return std::make_unique<ClosedMode>(options, setting);
}

}  // namespace h2server::lab::load
