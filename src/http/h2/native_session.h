// The Session of our own.
#pragma once

#include <memory>

#include "http/h2/session.h"

namespace h2server::http::h2 {

// All outlive the session.
std::unique_ptr<Session> make_native_session(const Limits& limits, base::Pool<Transfer>& transfers,
                                             WindowBudget* windows);

}  // namespace h2server::http::h2
