#include "http/h2/session.h"

namespace h2server::http::h2 {

bool is_built_in(Http2Implementation implementation) noexcept {
  return implementation == Http2Implementation::native || has_nghttp2;
}

SessionMaker maker_of(Http2Implementation implementation) noexcept {
  const bool is_native = implementation == Http2Implementation::native;
  return is_native ? make_native_session : make_nghttp2_session;
}

std::unique_ptr<Session> make_session(Http2Implementation implementation, const Limits& limits,
                                      base::Pool<H2Exchange>& exchanges, WindowBudget* windows) {
  return maker_of(implementation)(limits, exchanges, windows);
}

}  // namespace h2server::http::h2
