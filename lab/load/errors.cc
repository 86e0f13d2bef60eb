#include "load/errors.h"

#include <numeric>

namespace h2server::lab::load {

std::string_view name_of(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::none:
      return "none";
    case ErrorKind::connect:
      return "connect";
    case ErrorKind::tls:
      return "tls";
    case ErrorKind::alpn:
      return "alpn";
    case ErrorKind::status:
      return "status";
    case ErrorKind::length:
      return "length";
    case ErrorKind::malformed:
      return "malformed";
    case ErrorKind::truncated:
      return "truncated";
    case ErrorKind::closed:
      return "closed";
    case ErrorKind::reset:
      return "reset";
    case ErrorKind::refused:
      return "refused";
    case ErrorKind::early:
      return "early";
    case ErrorKind::timeout:
      return "timeout";
    case ErrorKind::unsent:
      return "unsent";
    case ErrorKind::unanswered:
      return "unanswered";
  }
  return "unknown";
}

std::uint64_t ErrorCounts::total() const noexcept {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

}  // namespace h2server::lab::load
