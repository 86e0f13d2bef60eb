// Open loop: sends requests on a schedule that is independent of the server, and measures each from
// its due time. Requests wait for a slot in schedule order, so the queue is one number.
//
// A slot is room on a connection or, with one connection per request, a closed session.
#include <fmt/format.h>

#include <algorithm>

#include "load/clock.h"
#include "load/mode.h"
#include "load/schedule.h"

namespace h2server::lab::load {

namespace {

class OpenMode final : public Mode {
 public:
  OpenMode(const Options& options, SessionSetting& setting)
      : Mode(options, setting),
        schedule_(options.pace),
        opening_(options.connections),
        is_free_(options.connections),
        due_(options.closes ? options.connections : 0) {}

  void start() override;
  bool finished() const override { return over_; }
  void tick(std::int64_t now_ns) override;
  std::int64_t next_tick_ns() const override;
  bool precise() const override { return true; }
  void sweep(std::int64_t now_ns) override;
  std::vector<ReportField> fields() const override;

  void opened(Session& session) override;
  void ended(Session& session, const Exchange& exchange, const Outcome& outcome) override;
  void closed(Session& session, ErrorKind error) override;

 private:
  void begin_when_all_are_open();
  void begin();
  bool has_slot(const Session& session) const;
  void add_free(Session& session, std::int64_t now_ns);
  void dispatch(std::int64_t now_ns);
  void send(Session& session, std::int64_t now_ns);
  void count_done();
  void stop();

  const ArrivalSchedule schedule_;
  Histogram service_;
  std::size_t opening_;
  std::deque<Session*> free_;  // sessions with a slot, in dispatch order
  std::vector<bool> is_free_;  // by index: the session is in free_
  std::vector<Exchange> due_;  // by index: sent when its connection is open
  std::int64_t free_since_ns_ = 0;
  std::int64_t start_ns_ = 0;
  std::int64_t deadline_ns_ = INT64_MAX;
  std::uint64_t next_ = 0;  // number of the next arrival
  std::uint64_t done_ = 0;
  std::uint64_t reconnects_ = 0;
  std::int64_t late_ns_max_ = 0;
  bool begun_ = false;
  bool over_ = false;
};

void OpenMode::start() {
  if (!options_.closes) return open_sessions(options_.connections);
  while (sessions_.size() < options_.connections) {
    sessions_.emplace_back(setting_, *this, sessions_.size());
  }
  begin();
}

void OpenMode::begin_when_all_are_open() {
  if (--opening_ == 0) begin();
}

void OpenMode::begin() {
  begun_ = true;
  start_ns_ = now_ns();
  const Pace& pace = options_.pace;
  const double seconds_max = pace.warmup_seconds + pace.seconds + options_.timeout_s;
  deadline_ns_ = start_ns_ + static_cast<std::int64_t>(seconds_max * static_cast<double>(ns_per_s));
  for (Session& session : sessions_) add_free(session, start_ns_);
  if (free_.empty()) stop();  // no connection succeeded
}

void OpenMode::opened(Session& session) {
  if (options_.closes) {
    Exchange& due = due_[session.index()];
    due.sent_ns = session.now_ns();
    session.submit(due);
    return;
  }
  if (!begun_) {
    begin_when_all_are_open();
    return;
  }
  add_free(session, session.now_ns());
  dispatch(session.now_ns());
}

bool OpenMode::has_slot(const Session& session) const {
  return options_.closes ? session.is_closed() : session.room() > 0;
}

void OpenMode::add_free(Session& session, std::int64_t now_ns) {
  if (is_free_[session.index()] || !has_slot(session)) return;
  if (free_.empty()) free_since_ns_ = now_ns;
  is_free_[session.index()] = true;
  free_.push_back(&session);
}

void OpenMode::dispatch(std::int64_t now_ns) {
  if (!begun_ || over_) return;
  const std::uint64_t due = schedule_.due_count(now_ns - start_ns_);
  while (next_ < due && !free_.empty()) {
    Session& session = *free_.front();
    free_.pop_front();
    is_free_[session.index()] = false;
    if (!has_slot(session)) continue;  // closed in the meantime
    send(session, now_ns);
    add_free(session, free_since_ns_);
  }
}

void OpenMode::send(Session& session, std::int64_t now_ns) {
  if (next_ == schedule_.warmup()) tally_.start();
  const std::int64_t due_ns = start_ns_ + schedule_.due_ns(next_);
  // Until free_since_ns_ it waited for a slot. Only the delay after that is ours.
  late_ns_max_ = std::max(late_ns_max_, now_ns - std::max(due_ns, free_since_ns_));
  const Exchange exchange{.number = next_++, .intended_ns = due_ns, .sent_ns = now_ns};
  if (!options_.closes) return session.submit(exchange);
  due_[session.index()] = exchange;
  session.open();
}

void OpenMode::tick(std::int64_t now_ns) {
  dispatch(now_ns);
  if (begun_ && now_ns >= deadline_ns_) stop();
  if (begun_ && done_ == schedule_.total()) over_ = true;
}

std::int64_t OpenMode::next_tick_ns() const {
  if (!begun_ || over_ || next_ == schedule_.total() || free_.empty()) return deadline_ns_;
  return std::min(deadline_ns_, start_ns_ + schedule_.due_ns(next_));
}

void OpenMode::count_done() {
  if (++done_ == schedule_.total()) tally_.stop();
}

void OpenMode::ended(Session& session, const Exchange& exchange, const Outcome& outcome) {
  if (exchange.number < schedule_.warmup()) {
    if (outcome.error != ErrorKind::none) tally_.errors.add(outcome.error);
  } else if (count(outcome)) {
    tally_.latency.record(to_us(session.now_ns() - exchange.intended_ns));
    service_.record(to_us(session.now_ns() - exchange.sent_ns));
  }
  count_done();
  if (options_.closes) return;  // closed() follows
  add_free(session, session.now_ns());
  dispatch(session.now_ns());
}

void OpenMode::closed(Session& session, ErrorKind error) {
  const bool had_opened = session.has_opened();
  // The server may close before the request is sent. No exchange reports that.
  if (options_.closes && !had_opened && error == ErrorKind::none) error = ErrorKind::closed;
  if (error != ErrorKind::none) tally_.errors.add(error);
  if (options_.closes) {
    if (!had_opened) count_done();
    add_free(session, session.now_ns());  // tick() opens it, not another session's turn
    return;
  }
  if (!begun_) {
    if (!had_opened) begin_when_all_are_open();
    return;
  }
  if (over_ || !had_opened) return;  // sweep() retries
  ++reconnects_;
  session.open();
}

void OpenMode::sweep(std::int64_t now_ns) {
  Mode::sweep(now_ns);
  if (!begun_ || over_ || options_.closes) return;
  for (Session& session : sessions_) {
    if (session.is_closed()) session.open();
  }
}

void OpenMode::stop() {
  over_ = true;
  for (Session& session : sessions_) session.abandon(ErrorKind::unanswered);
  tally_.errors.add(ErrorKind::unanswered, schedule_.total() - next_);
  tally_.stop();
}

std::vector<ReportField> OpenMode::fields() const {
  const double seconds = std::max(tally_.seconds, options_.pace.seconds);
  return {{"rate_intended", fmt::format("{:.3f}", options_.pace.rate)},
          {"rate_done", fmt::format("{:.3f}", static_cast<double>(tally_.answered) / seconds)},
          {"late_us_max", fmt::format("{}", to_us(late_ns_max_))},
          {"warmup_requests", fmt::format("{}", schedule_.warmup())},
          {"reconnects", fmt::format("{}", reconnects_)},
          {"service_histogram", to_json(service_)},
          {"service_mean_us", fmt::format("{:.3f}", service_.mean_us())},
          {"service_max_us", fmt::format("{}", service_.max_us())}};
}

}  // namespace

std::unique_ptr<Mode> make_open(const Options& options, SessionSetting& setting) {
  return std::make_unique<OpenMode>(options, setting);
}

}  // namespace h2server::lab::load
