// Addresses under which others reach this machine.
#pragma once

#include <string>
#include <vector>

namespace h2server::net {

// The numeric IPv4 addresses of the interfaces that are up, without loopback.
std::vector<std::string> reachable_addresses();

}  // namespace h2server::net
