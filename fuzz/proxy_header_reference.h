// Reference parser of headers of the PROXY protocol: takes the whole header apart at once, and
// addresses by the C library. The fuzzer compares the parser with it.
#pragma once

#include <string>
#include <string_view>

#include "net/proxy_header.h"

namespace h2server::fuzz {

net::ProxyHeader read_proxy_header(std::string_view bytes);

// Returns a header of version 1 or 2 for the addresses. The hosts are of one family.
std::string write_proxy_line(const net::ProxiedAddresses& addresses);
std::string write_proxy_block(const net::ProxiedAddresses& addresses);

}  // namespace h2server::fuzz
