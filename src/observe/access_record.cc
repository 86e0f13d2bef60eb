#include "observe/access_record.h"

namespace h2server::observe {

std::string_view name_of(CutOff reason) noexcept {
  switch (reason) {
    case CutOff::none:
      return {};
    case CutOff::client_left:
      return "client_left";
    case CutOff::too_slow:
      return "too_slow";
    case CutOff::deadline:
      return "deadline";
    case CutOff::server_stops:
      return "server_stops";
    case CutOff::aborted:
      return "aborted";
    case CutOff::failed:
      return "failed";
    case CutOff::refused:
      return "refused";
  }
  return {};
}

}  // namespace h2server::observe
