// The Session on libnghttp2: the reference.
#pragma once

#include <memory>

#include "base/pool.h"
#include "h2server/result.h"
#include "http/h2/session.h"
#include "http/limits.h"

namespace h2server::http::h2 {

// `limits` and `transfers` outlive the session. Fails for lack of memory only.
Result<std::unique_ptr<Session>> make_nghttp2_session(const Limits& limits,
                                                      base::Pool<Transfer>& transfers);

}  // namespace h2server::http::h2
