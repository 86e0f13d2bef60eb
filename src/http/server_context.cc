#include "http/server_context.h"

#include <fmt/format.h>

#include <exception>

#include "base/log.h"
#include "file/calls.h"
#include "http/message.h"
#include "http/target.h"

namespace h2server::http {

namespace {

std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

Response failed(const std::exception_ptr& failure, const Request& request) noexcept {
  base::log_error("handler of {} {} failed: {}", request.head().method_name, request.head().target,
                  text_of(failure));
  return error_response(500);
}

}  // namespace

const Handler* find_handler(const ServerContext& context, Exchange& exchange) {
  RequestHead& head = exchange.head;
  // Checked before the target, whose form depends on the method: CONNECT has one of its own.
  if (head.method == Method::unknown) {
    exchange.response = error_response(501);
    return nullptr;
  }
  const std::optional<Target> target = parse_target(head.target, exchange.arena);
  if (!target) {
    exchange.response = error_response(400);
    return nullptr;
  }
  head.path = target->path;
  head.query = target->query;
  // RFC 9112, 3.2.2: the absolute form's authority overrides Host.
  if (!target->authority.empty()) head.authority = target->authority;
  if (head.path == "*") {  // RFC 9110, 9.3.7: about the server as a whole
    exchange.response = head.method == Method::OPTIONS ? Response(204) : error_response(400);
    return nullptr;
  }
  const Router::Match match = context.router.find(head.method, head.path, exchange.params);
  if (match.handler != nullptr) {
    exchange.route = match.pattern;
    if (context.last_route != nullptr) {
      context.last_route->store(match.pattern, std::memory_order_relaxed);
    }
    return match.handler;
  }
  if (match.methods == 0) {
    exchange.response = error_response(404);
    return nullptr;
  }
  const bool asks = head.method == Method::OPTIONS;  // RFC 9110, 9.3.7
  exchange.response = asks ? Response(204) : error_response(405);
  exchange.response.add("Allow", allow_value(match.methods));
  return nullptr;
}

std::string describe(const Exchange& exchange) {
  return fmt::format("{} {} (route {})", exchange.head.method_name, exchange.head.path,
                     exchange.route != nullptr ? *exchange.route : "none");
}

std::optional<Response> answer_at_once(const Handler& handler, Request& request) noexcept {
  try {
    if (const Handler::Plain* const plain = handler.plain()) return (*plain)(request);
    if (const Handler::Attempt* const attempt = handler.attempt()) return (*attempt)(request);
    return std::nullopt;
  } catch (...) {
    return failed(std::current_exception(), request);
  }
}

Task<Response> call_coroutine(const Handler::Coroutine& handler, Request& request) {
  std::exception_ptr failure;
  try {
    Response response = co_await handler(request);
    co_return std::move(response);
  } catch (...) {
    failure = std::current_exception();
  }
  co_return failed(failure, request);
}

Task<Result<std::string_view>> read_source(BodySource& source) {
  std::exception_ptr failure;
  try {
    Result<std::string_view> piece = co_await source.read();
    co_return piece;
  } catch (...) {
    failure = std::current_exception();
  }
  base::log_error("the source of a response's body failed: {}", text_of(failure));
  co_return std::unexpected(Error{0, "body source threw"});
}

Task<bool> pull(io::Engine& engine, OutgoingBody& body) {
  if (file::PartSender* const part = body.not_resident()) {
    const file::PartSender::Span span = *part->not_resident();
    const int result = co_await file::make_call(&engine, part->populate(span));
    if (result < 0) co_return false;  // the file shrank, or the disk failed
    part->made_resident(span);
    co_return true;
  }
  const Result<std::string_view> piece = co_await read_source(*body.source());
  co_return piece&& body.offer(*piece);
}

}  // namespace h2server::http
