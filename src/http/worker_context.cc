#include "http/worker_context.h"

#include <fmt/format.h>
#include <cerrno>

#include <exception>

#include "file/calls.h"
#include "http/answer.h"
#include "http/fields/target.h"
#include "http/message.h"
#include "http/observer.h"

namespace h2server::http {

namespace {

// Without an error handler, which makes the body of an empty response, the server's own page.
Response refusal(const WorkerContext& context, int status) {
  const bool replaced = context.composition != nullptr && context.composition->error_handler;
  return replaced ? Response(status) : error_response(status);
}

// Finds the routes of the host that the request names, and applies its rewrites. Returns null if
// they lead to a path that no client may send (400).
const Router* choose_router(const WorkerContext& context, ExchangeState& exchange) {
  const Composition& composition = *context.composition;
  RequestHead& head = exchange.head;
  if (!composition.hosts.empty()) exchange.host = composition.hosts.find(head.authority);
  const bool is_general = exchange.host == nullptr;
  const PathRewrites& rewrites = is_general ? composition.rewrites : exchange.host->rewrites;
  if (!rewrites.empty()) {
    const std::optional<std::string_view> made = rewrites.apply(head.path, exchange.arena);
    const auto path = made ? check_path(*made, exchange.arena) : head.path;
    if (!path) return nullptr;
    head.path = *path;
  }
  return is_general ? &context.router : &exchange.host->router;
}

// Returns the server's own answer if there is no handler.
std::optional<Response> find_route(const WorkerContext& context, const ConnectionTraits& traits,
                                   ExchangeState& exchange) {
  RequestHead& head = exchange.head;
  // Checked before the target, whose form depends on the method: CONNECT has one of its own.
  if (head.method == Method::unknown) return refusal(context, 501);
  const std::optional<Target> target = parse_target(head.target, exchange.arena);
  if (!target) return refusal(context, 400);
  head.path = target->path;
  head.query = target->query;
  // RFC 9112, 3.2.2: the absolute form's authority overrides Host.
  if (!target->authority.empty()) head.authority = target->authority;
  if (head.path == "*") {  // RFC 9110, 9.3.7: about the server as a whole
    return head.method == Method::OPTIONS ? Response(204) : refusal(context, 400);
  }
  const Router* router = &context.router;
  if (context.composition != nullptr) {
    router = choose_router(context, exchange);
    if (router == nullptr) return refusal(context, 400);
    // RFC 9110, 15.5.20: the connection is one of another host.
    if (traits.names_host && traits.named != exchange.host) return refusal(context, 421);
  }
  const Router::Match match = router->find(head.method, head.path, exchange.params);
  if (match.handler != nullptr) {
    exchange.handler = match.handler;
    exchange.chain = match.chain;
    exchange.route = match.pattern;
    if (context.last_route != nullptr) {
      context.last_route->pattern.store(match.pattern, std::memory_order_relaxed);
      context.last_route->method.store(head.method, std::memory_order_relaxed);
    }
    return std::nullopt;
  }
  if (match.methods == 0) return refusal(context, 404);
  // Middleware of the path's routes, such as CORS, also sees OPTIONS and refused methods.
  if (match.chain != nullptr) exchange.chain = match.chain;
  const bool asks = head.method == Method::OPTIONS;  // RFC 9110, 9.3.7
  Response response = asks ? Response(204) : refusal(context, 405);
  response.add("Allow", allow_value(match.methods));
  return response;
}

}  // namespace

bool find_handler(const WorkerContext& context, const ConnectionTraits& traits,
                  ExchangeState& exchange) {
  exchange.composition = context.composition;
  if (exchange.composition != nullptr) exchange.chain = exchange.composition->chain.get();
  std::optional<Response> response = find_route(context, traits, exchange);
  if (!response) return true;
  exchange.response = *std::move(response);
  return exchange.composition != nullptr || exchange.chain != nullptr;
}

std::string describe(const ExchangeState& exchange) {
  return fmt::format("{} {} (route {})", exchange.head.method_name, exchange.head.path,
                     exchange.route != nullptr ? *exchange.route : "none");
}

NextPiece::NextPiece(ExchangeState& exchange) noexcept : exchange_(exchange) {
  try {
    read_.emplace(exchange.outgoing.source()->read());
    read_->stop_by(exchange.stop);
  } catch (...) {
    fail();
  }
}

Result<std::string_view> NextPiece::await_resume() noexcept {
  try {
    if (!read_) return std::unexpected(Error{0, "body source threw"});
    Result<std::string_view> piece = read_->await_resume();
    if (!piece) report_cut_off(exchange_, piece.error());
    return piece;
  } catch (...) {
    fail();
  }
  return std::unexpected(Error{0, "body source threw"});
}

void NextPiece::fail() noexcept {
  report_cut_off(exchange_, std::current_exception());
  read_.reset();
}

void note_failed_write(ExchangeState& exchange, const Error& error) {
  if (error.code != EFAULT) return;
  const Result<void> checked = exchange.outgoing.check();
  if (checked) return;
  report_cut_off(exchange, checked.error());
  exchange.observed.cut_off = CutOff::failed;
}

bool offer(ExchangeState& exchange, const Result<std::string_view>& piece) {
  if (!piece) return false;
  const Result<void> offered = exchange.outgoing.offer(*piece);
  if (!offered) report_cut_off(exchange, offered.error());
  return offered.has_value();
}

Task<bool> make_resident(io::Engine& engine, ExchangeState& exchange) {
  file::PartSender& part = *exchange.outgoing.not_resident();
  const file::PartSender::Span span = *part.not_resident();
  const int result = co_await file::make_call(&engine, part.populate(span));
  if (result < 0) {
    report_cut_off(exchange, Error{-result, "its file was truncated, or can't be read"});
    co_return false;
  }
  part.made_resident(span);
  co_return true;
}

Task<bool> pull(io::Engine& engine, ExchangeState& exchange) {
  if (exchange.outgoing.not_resident() != nullptr) {
    const bool resident = co_await make_resident(engine, exchange);
    co_return resident;
  }
  NextPiece next(exchange);
  const Result<std::string_view> piece = co_await next;
  co_return offer(exchange, piece);
}

}  // namespace h2server::http
