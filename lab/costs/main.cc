// What middleware costs, in nanoseconds of one thread and without a connection.
//
//   build/release/lab/costs
//
// Answers requests through a chain of middleware and through none. The difference of the best
// rounds is the cost. The bound for a middleware that does nothing is 25 ns.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include "h2server/authentication.h"
#include "h2server/cors.h"
#include "h2server/rate_limit.h"
#include "h2server/standard_middleware.h"
#include "http/answer.h"

namespace h2server {
namespace {

struct Row {
  std::string name;
  Middleware middleware;
  int count = 1;
};

std::optional<Response> pass(Request&) { return std::nullopt; }
void leave(Request&, Response&) {}

std::vector<Row> rows() {
  const auto hook = [](const Request&, int, std::chrono::microseconds) {};
  const auto key = [](const Request&) { return std::string("127.0.0.1"); };
  return {
      {"before, nothing", pass, 5},
      {"after, nothing", leave, 5},
      {"before and after, nothing", Middleware(pass, leave), 5},
      {"request_log", request_log(hook)},
      {"request_id", request_id()},
      {"security_headers", security_headers()},
      {"cors", cors({.origins = {"https://app.example"}})},
      {"basic_authentication", basic_authentication("lab", "alice", "secret")},
      {"rate_limit", rate_limit({.key = key, .requests_per_s = 1e6, .burst_max = 100'000'000})},
  };
}

// Returns nanoseconds for a request that passes `chain`, in the best of many rounds.
double measure(const MiddlewareChain& chain) {
  constexpr int rounds = 20;
  constexpr int requests = 50'000;
  using Clock = std::chrono::steady_clock;
  const Handler handler = [](Request&) { return Response(204); };
  http::ExchangeState exchange;
  exchange.head.fields.add("host", "localhost");
  exchange.head.fields.add("authorization", "Basic YWxpY2U6c2VjcmV0");
  exchange.head.fields.add("origin", "https://app.example");
  exchange.handler = &handler;
  exchange.chain = &chain;
  double best_ns = std::numeric_limits<double>::max();
  for (int round = 0; round < rounds; ++round) {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < requests; ++i) {
      exchange.request.emplace(exchange.head, exchange.params, nullptr, &exchange.stop);
      const std::optional<Response> response =
          http::answer_at_once(exchange, http::Begin::coroutines);
      if (!response || response->status() != 204) return std::numeric_limits<double>::quiet_NaN();
      exchange.request.reset();
    }
    const std::chrono::duration<double, std::nano> time = Clock::now() - begin;
    best_ns = std::min(best_ns, time.count() / requests);
  }
  return best_ns;
}

}  // namespace
}  // namespace h2server

int main() {
  using namespace h2server;
  const double none_ns = measure({});
  fmt::print("{:<28}{:>8.1f} ns\n", "a request without any", none_ns);
  for (const Row& row : rows()) {
    const MiddlewareChain chain(static_cast<std::size_t>(row.count), row.middleware);
    fmt::print("{:<28}{:>8.1f} ns\n", row.name, (measure(chain) - none_ns) / row.count);
  }
}
