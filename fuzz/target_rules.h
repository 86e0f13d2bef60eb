// Invariants of every request target and authority.
#pragma once

#include <string_view>

namespace h2server::fuzz {

void check_target(std::string_view raw);
void check_authority(std::string_view text);

}  // namespace h2server::fuzz
