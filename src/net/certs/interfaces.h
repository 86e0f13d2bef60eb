// The addresses at which other machines reach this one.
#pragma once

#include <string>
#include <vector>

namespace h2server::net {

// Returns the numeric IPv4 addresses of the interfaces that are up, except loopback.
std::vector<std::string> reachable_addresses();

}  // namespace h2server::net
