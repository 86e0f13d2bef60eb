// What holds for every field section that is taken for a request, or for trailers (RFC 9113, 8).
#pragma once

#include <vector>

#include "hpack_rules.h"

namespace h2server::fuzz {

void check_request_head(const std::vector<DecodedLine>& lines);
void check_trailers(const std::vector<DecodedLine>& lines);

}  // namespace h2server::fuzz
