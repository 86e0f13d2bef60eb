// For tests of middleware: a request, and its way through a middleware to a handler.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "content/support.h"
#include "h2server/middleware.h"
#include "http/answer.h"

namespace h2server::tests {

using FieldRows = std::vector<std::pair<std::string, std::string>>;

// Each request has an exchange of its own.
class Passage {
 public:
  explicit Passage(Middleware middleware) : chain_{std::move(middleware)} {}
  explicit Passage(MiddlewareChain chain) : chain_(std::move(chain)) {}

  Handler handler = [](Request&) { return Response(200, "inside"); };
  http::Composition composition;
  std::string authority;
  bool encrypted = false;

  Response ask(Method method, const FieldRows& fields) {
    http::ExchangeState exchange;
    exchange.head.method = method;
    exchange.head.path = "/";
    exchange.head.authority = authority;
    exchange.head.encrypted = encrypted;
    for (const auto& [name, value] : fields) exchange.head.fields.add(name, value);
    exchange.handler = &handler;
    exchange.chain = &chain_;
    exchange.composition = &composition;
    exchange.request.emplace(exchange.head, exchange.params, nullptr, &exchange.stop);
    std::optional<Response> response = http::answer_at_once(exchange, http::Begin::coroutines);
    return response ? *std::move(response) : run_now(http::answer(exchange));
  }
  Response get(const FieldRows& fields = {}) { return ask(GET, fields); }

 private:
  MiddlewareChain chain_;
};

// Returns the response's fields as "name: value" lines, in order, without Content-Type.
inline std::vector<std::string> lines_of(const Response& response) {
  std::vector<std::string> lines;
  for (const Response::Line& line : response.fields()) {
    if (line.name != "Content-Type") lines.push_back(line.name + ": " + line.value);
  }
  return lines;
}

}  // namespace h2server::tests
