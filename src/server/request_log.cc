// Not in http, which reads no clock.
#include <stdexcept>
#include <utility>
#include <vector>

#include "h2server/standard_middleware.h"

namespace h2server {

namespace {

using Clock = std::chrono::steady_clock;

// When each request_log() around the handler began, the outermost first.
struct Beginnings {
  std::vector<Clock::time_point> times;
};

}  // namespace

Middleware request_log(RequestHook hook) {
  if (!hook) throw std::invalid_argument("request_log without a hook");
  const auto begin = [](Request& request) -> std::optional<Response> {
    Beginnings* beginnings = request.attached<Beginnings>();
    if (beginnings == nullptr) beginnings = &request.attach(Beginnings());
    beginnings->times.push_back(Clock::now());
    return std::nullopt;
  };
  const auto end = [hook = std::move(hook)](Request& request, Response& response) {
    std::vector<Clock::time_point>& times = request.attached<Beginnings>()->times;
    const auto duration = Clock::now() - times.back();
    times.pop_back();
    hook(request, response.status(),
         std::chrono::duration_cast<std::chrono::microseconds>(duration));
  };
  return {begin, end};
}

}  // namespace h2server
