// Names by which requests reach this machine although nobody else decides where they lead. A page
// of another origin whose name is made to lead here (DNS rebinding) has none of them.
#pragma once

#include <string_view>

#include "h2server/middleware.h"

namespace h2server::app {

// Returns true for a numeric address and for localhost, with or without a port.
[[nodiscard]] bool is_address_or_localhost(std::string_view authority) noexcept;

// Returns true also for the names that a local network gives: those of one label, those below a
// domain that nobody can register in (RFC 6761, 6762, 8375, and what routers give), and `machine`,
// the name of this one; and for no name at all, which HTTP/1.0 allows and no browser sends.
[[nodiscard]] bool is_own_name(std::string_view authority, std::string_view machine) noexcept;

// For what is open to everyone: 421 for requests in cleartext under names that are not this
// machine's own. With TLS, browsers have compared the name with the certificate.
[[nodiscard]] Middleware own_names_only();

}  // namespace h2server::app
