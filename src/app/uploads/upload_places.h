// How many uploads may be under way, since each has descriptors.
#pragma once

#include <memory>

#include "content/files/client_places.h"
#include "h2server/middleware.h"

namespace h2server::app {

// For routes that receive files: each request takes a place, or gets 503 with Retry-After.
[[nodiscard]] Middleware limit_uploads(std::shared_ptr<content::ClientPlaces> places);

}  // namespace h2server::app
