// Paths of a site that ask for a user and a password (--auth).
#pragma once

#include <string_view>

#include "config/configuration.h"
#include "h2server/middleware.h"
#include "h2server/password_file.h"

namespace h2server::app {

// Returns true if `path` is `top` or below it. Empty segments don't count, since files are found
// without them.
[[nodiscard]] bool lies_at_or_below(std::string_view path, std::string_view top) noexcept;

// Asks for a user of the file at and below the area's path. With `has_uploads` also for resumable
// uploads if the area covers what they become.
[[nodiscard]] Middleware protection(const config::ProtectedPath& area, const PasswordFile& users,
                                    bool has_uploads);

// Throws std::invalid_argument for areas whose content can be had or changed at other paths.
void check_protected_paths(const config::Site& site);

}  // namespace h2server::app
