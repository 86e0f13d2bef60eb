#include "http/h2/session.h"

namespace h2server::http::h2 {

bool is_built_in(Http2Implementation implementation) noexcept {
  return implementation == Http2Implementation::native || has_nghttp2;
}

std::unique_ptr<Session> make_session(Http2Implementation implementation, const Limits& limits,
                                      base::Pool<H2Exchange>& exchanges, WindowBudget* windows) {
  switch (implementation) {
    case Http2Implementation::native:
      return make_native_session(limits, exchanges, windows);
    case Http2Implementation::nghttp2:
      return make_nghttp2_session(limits, exchanges, windows);
  }
  return nullptr;
}

}  // namespace h2server::http::h2
