// What is kept of orders that failed, so that neither a reload nor a new start orders at once
// again: in a file beside the certificate, or in the store that servers share.
//
// Pure functions, any thread; those of files block on the disk.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/acme/acme_store.h"
#include "h2server/result.h"

namespace h2server::app {

struct AcmeBackoff {
  std::string order;      // acme_order_name(): failures of another order do not count
  unsigned failures = 0;  // in a row, one at least
  std::int64_t last_s = 0;
  std::int64_t next_s = 0;  // no order before

  bool operator==(const AcmeBackoff&) const = default;
};

// What is ordered: the kind of the challenge and the hosts. One that the operator has changed is
// another order, which need not fail.
std::string acme_order_name(std::string_view challenge, std::span<const std::string> hosts);

std::string to_text(const AcmeBackoff& backoff);
// Reads what to_text() writes. Returns nullopt for anything else, for another order, for a failure
// in the future, and for a pause that is longer than any.
std::optional<AcmeBackoff> parse_backoff(std::string_view text, std::string_view order,
                                         std::int64_t now_s);

// NAME.crt.failures.
std::string backoff_file(const AcmeFiles& files);
// Returns the text of the file, empty without one.
std::string read_backoff(const AcmeFiles& files);
// Replaces the file; an empty text removes it. The error is a line for the operator.
Result<void, std::string> keep_backoff(const AcmeFiles& files, std::string_view text);

}  // namespace h2server::app
