// Handlers whose response body reads the request while it is sent.
#pragma once

#include <memory>

#include "http/worker_context.h"

namespace h2server::http {

// Sends back the request's body. The request must outlive it.
class EchoSource final : public BodySource {
 public:
  explicit EchoSource(Request& request) : request_(request) {}
  Task<Result<std::string_view>> read() override {
    Result<std::string_view> piece = co_await request_.read();
    co_return piece;
  }

 private:
  Request& request_;
};

inline Response echo_as_it_comes(Request& request) {
  return {std::make_unique<EchoSource>(request), "text/plain; charset=utf-8"};
}
inline Task<Response> echo_as_it_comes_later(Request& request) {
  co_return echo_as_it_comes(request);
}

}  // namespace h2server::http
