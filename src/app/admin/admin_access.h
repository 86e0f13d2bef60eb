// Who may reach the admin listener.
#pragma once

#include <string>
#include <string_view>

#include "config/configuration.h"
#include "h2server/middleware.h"
#include "h2server/options.h"

namespace h2server::app {

// Returns where "127.0.0.1:9000", "[::1]:9000" or "unix:PATH" is. The address has been checked.
ListenerOptions admin_listener(std::string_view address);

// What load balancers and orchestrators ask: whether the program runs, and whether it is to be sent
// new connections. They tell nothing else, so anyone may ask.
inline constexpr std::string_view healthy_path = "/-/healthy";
inline constexpr std::string_view ready_path = "/-/ready";

// With a token, asks for it: as Bearer (RFC 6750), or as the password of any user (RFC 7617), which
// browsers ask for. Without one, refuses requests whose Host is a name but localhost: a page of any
// site could otherwise read all by pointing a name of its own at this machine (DNS rebinding).
// Does not guard the two paths above.
Middleware admin_access(const config::AdminSettings& admin);

}  // namespace h2server::app
