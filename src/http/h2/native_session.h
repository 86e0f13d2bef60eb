// This project's own Session.
#pragma once

#include <memory>

#include "http/h2/session.h"

namespace h2server::http::h2 {

// All must outlive the session. If `windows` is null, receive windows do not grow.
std::unique_ptr<Session> make_native_session(const Limits& limits,
                                             base::Pool<H2Exchange>& exchanges,
                                             WindowBudget* windows);

}  // namespace h2server::http::h2
