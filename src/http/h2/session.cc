#include "http/h2/session.h"

#include "http/h2/native_session.h"
#include "http/h2/nghttp2_session.h"

namespace h2server::http::h2 {

std::optional<Implementation> find_implementation(std::string_view name) noexcept {
  if (name == "native") return Implementation::native;
  if (name == "nghttp2") return Implementation::nghttp2;
  return std::nullopt;
}

std::unique_ptr<Session> make_session(Implementation implementation, const Limits& limits,
                                      base::Pool<Transfer>& transfers, WindowBudget* windows) {
  switch (implementation) {
    case Implementation::native:
      return make_native_session(limits, transfers, windows);
    case Implementation::nghttp2:
      return make_nghttp2_session(limits, transfers);
  }
  return nullptr;
}

}  // namespace h2server::http::h2
