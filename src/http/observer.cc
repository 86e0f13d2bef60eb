#include "http/observer.h"

namespace h2server::http {

CutOff cut_off_of(const ExchangeState& exchange, bool whole, CutOff otherwise) noexcept {
  if (whole) return CutOff::none;
  switch (exchange.stop.reason()) {
    case StopReason::deadline:
      return CutOff::deadline;
    case StopReason::server_stops:
      return CutOff::server_stops;
    case StopReason::aborted:
      return CutOff::aborted;
    case StopReason::none:
    case StopReason::client_left:
      break;
  }
  const CutOff noted = exchange.observed.cut_off;
  return noted != CutOff::none ? noted : otherwise;
}

}  // namespace h2server::http
