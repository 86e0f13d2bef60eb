// Session implemented with libnghttp2: the reference for the native one.
#pragma once

#include <memory>

#include "http/h2/session.h"

namespace h2server::http::h2 {

// False in a build without libnghttp2 (CMake's H2SERVER_NGHTTP2); then the function returns null.
extern const bool has_nghttp2;

// `limits` and `exchanges` must outlive the session.
std::unique_ptr<Session> make_nghttp2_session(const Limits& limits,
                                              base::Pool<H2Exchange>& exchanges);

}  // namespace h2server::http::h2
