// Invariants of every field section read as a request head or as trailers (RFC 9113, 8).
#pragma once

#include <vector>

#include "hpack_rules.h"

namespace h2server::fuzz {

void check_request_head(const std::vector<DecodedLine>& lines);
void check_trailers(const std::vector<DecodedLine>& lines);

}  // namespace h2server::fuzz
