// The Session on libnghttp2: the reference.
#pragma once

#include <memory>

#include "http/h2/session.h"

namespace h2server::http::h2 {

// `limits` and `transfers` outlive the session.
std::unique_ptr<Session> make_nghttp2_session(const Limits& limits,
                                              base::Pool<Transfer>& transfers);

}  // namespace h2server::http::h2
