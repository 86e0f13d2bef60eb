// How many uploads may be under way, since each has a descriptor.
#pragma once

#include "h2server/middleware.h"

namespace h2server::content {

// For routes that receive files: so many requests at once as the process may have descriptors for
// half of them, and an eighth of these of one client. Beyond that, 503 with Retry-After. What is
// left of the descriptors serves others.
[[nodiscard]] Middleware limit_uploads();

}  // namespace h2server::content
