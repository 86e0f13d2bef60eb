// Exchange mode, the client of the paper: each of N clients opens its connections in sequence. On a
// connection it waits for each response before it sends the next message.
#include <fmt/format.h>

#include "load/clock.h"
#include "load/mode.h"

namespace h2server::lab::load {

namespace {

class ExchangeMode final : public Mode {
 public:
  ExchangeMode(const Options& options, SessionSetting& setting)
      : Mode(options, setting),
        clients_(options.clients, {options.connections_each, options.messages}),
        working_(options.clients) {}

  void start() override;
  bool finished() const override { return working_ == 0; }
  std::vector<ReportField> fields() const override;

  void opened(Session& session) override;
  void ended(Session& session, const Exchange& exchange, const Outcome& outcome) override;
  void closed(Session& session, ErrorKind error) override;

 private:
  struct Client {
    std::uint32_t connections;  // remaining, including the open one
    std::uint32_t messages;     // remaining on the open one
  };

  void send(Session& session);

  std::vector<Client> clients_;  // by the session's index
  std::size_t working_;
  std::uint64_t number_ = 0;
  std::uint64_t connections_ = 0;  // established
  Histogram connect_;
};

void ExchangeMode::start() {
  tally_.start();
  open_sessions(options_.clients);
}

void ExchangeMode::send(Session& session) {
  session.submit(
      {.number = number_++, .intended_ns = session.now_ns(), .sent_ns = session.now_ns()});
}

void ExchangeMode::opened(Session& session) {
  ++connections_;
  connect_.record(to_us(session.now_ns() - session.opening_ns()));
  send(session);
}

void ExchangeMode::ended(Session& session, const Exchange& exchange, const Outcome& outcome) {
  if (count(outcome)) tally_.latency.record(to_us(session.now_ns() - exchange.sent_ns));
  if (--clients_[session.index()].messages == 0) {
    session.close();
  } else if (session.room() > 0) {
    send(session);
  }
}

void ExchangeMode::closed(Session& session, ErrorKind error) {
  Client& client = clients_[session.index()];
  if (error != ErrorKind::none) tally_.errors.add(error);
  if (client.messages > 0) {
    // The server was not asked to close, even if it limits requests per connection.
    if (error == ErrorKind::none) tally_.errors.add(ErrorKind::closed);
    tally_.errors.add(ErrorKind::unsent, client.messages);
  }
  client.messages = options_.messages;
  if (--client.connections > 0) {
    session.open();
    return;
  }
  if (--working_ == 0) tally_.stop();
}

std::vector<ReportField> ExchangeMode::fields() const {
  return {{"connections", fmt::format("{}", connections_)},
          {"connect_histogram", to_json(connect_)},
          {"connect_mean_us", fmt::format("{:.3f}", connect_.mean_us())},
          {"connect_max_us", fmt::format("{}", connect_.max_us())}};
}

}  // namespace

std::unique_ptr<Mode> make_exchange(const Options& options, SessionSetting& setting) {
  return std::make_unique<ExchangeMode>(options, setting);
}

}  // namespace h2server::lab::load
