// What a connection tells of its exchanges: to the operator, and to its observer.
#include "http/h2/connection.h"

namespace h2server::http::h2 {

void Connection::name_unfinished(std::vector<std::string>& names) const {
  for (const H2Exchange* exchange = first_; exchange != nullptr;
       exchange = exchange->handling.next) {
    names.push_back(describe(*exchange));
  }
}

void Connection::each_exchange(const std::function<void(const ExchangeState&)>& visit) const {
  for (const H2Exchange* exchange = first_; exchange != nullptr;
       exchange = exchange->handling.next) {
    visit(*exchange);
  }
}

void Connection::observe_end(H2Exchange& exchange) {
  exchange.observed.responded = exchange.handling.responded();
  const bool whole = exchange.observed.responded && exchange.outgoing.finished();
  exchange.observed.cut_off = cut_off_of(
      exchange, whole, session_->error().code != 0 ? CutOff::refused : CutOff::client_left);
  traits_.observer->ended(exchange, exchange.id);
}

// Of a response whose body takes longer than its head.
void Connection::note_first_byte(H2Exchange& exchange) {
  if (exchange.observed.begun_us == 0) return;
  exchange.observed.first_byte_us = traits_.observer->now_us();
}

}  // namespace h2server::http::h2
