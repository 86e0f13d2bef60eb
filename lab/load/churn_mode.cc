// Churn mode: one connection per request. Connects, sends one request with Connection: close, reads
// up to the end of the connection, closes. The server closes first and keeps TIME_WAIT.
#include <algorithm>

#include "load/clock.h"
#include "load/mode.h"

namespace h2server::lab::load {

namespace {

class ChurnMode final : public Mode {
 public:
  ChurnMode(const Options& options, SessionSetting& setting)
      : Mode(options, setting), unopened_(options.requests), unfinished_(options.requests) {}

  void start() override;
  bool finished() const override { return unfinished_ == 0; }

  void opened(Session& session) override;
  void ended(Session& session, const Exchange& exchange, const Outcome& outcome) override;
  void closed(Session& session, ErrorKind error) override;

 private:
  std::uint64_t unopened_;
  std::uint64_t unfinished_;
  std::uint64_t number_ = 0;
};

void ChurnMode::start() {
  tally_.start();
  const auto at_once = std::min<std::uint64_t>(options_.concurrency, unopened_);
  unopened_ -= at_once;
  open_sessions(static_cast<std::size_t>(at_once));
}

void ChurnMode::opened(Session& session) {
  session.submit(
      {.number = number_++, .intended_ns = session.opening_ns(), .sent_ns = session.now_ns()});
}

void ChurnMode::ended(Session& session, const Exchange& exchange, const Outcome& outcome) {
  if (count(outcome)) tally_.latency.record(to_us(session.now_ns() - exchange.intended_ns));
}

void ChurnMode::closed(Session& session, ErrorKind error) {
  // The server may close before the request is sent. No exchange reports that.
  if (error == ErrorKind::none && !session.has_opened()) error = ErrorKind::closed;
  if (error != ErrorKind::none) tally_.errors.add(error);
  --unfinished_;
  if (unopened_ == 0) return;
  --unopened_;
  session.open();
}

}  // namespace

std::unique_ptr<Mode> make_churn(const Options& options, SessionSetting& setting) {
  return std::make_unique<ChurnMode>(options, setting);
}

}  // namespace h2server::lab::load
