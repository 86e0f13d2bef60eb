// A connection for each request: connect, one request that asks for the connection's end, read up
// to that end, close. The server closes first, so that TIME_WAIT is its own.
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
  // The server may have closed it before the request was sent: then no exchange tells of it.
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
