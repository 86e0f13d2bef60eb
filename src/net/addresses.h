// Owns what getaddrinfo(3) returns.
#pragma once

#include <netdb.h>

#include <memory>

namespace h2server::net {

struct FreeAddresses {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

}  // namespace h2server::net
