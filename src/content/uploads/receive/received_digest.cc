#include "content/uploads/receive/received_digest.h"

namespace h2server::content {

std::string digits_of(std::optional<Sha256>& sha256) {
  return sha256 ? hex_digits(sha256->finish()) : std::string();
}

}  // namespace h2server::content
