// In place of nghttp2_session.cc in a build without libnghttp2.
#include "http/h2/session.h"

namespace h2server::http::h2 {

const bool has_nghttp2 = false;

std::unique_ptr<Session> make_nghttp2_session(const Limits& /*limits*/,
                                              base::Pool<H2Exchange>& /*exchanges*/,
                                              WindowBudget* /*windows*/) {
  return nullptr;
}

}  // namespace h2server::http::h2
