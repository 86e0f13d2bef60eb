#include "http/answer.h"

#include <algorithm>
#include <cerrno>
#include <expected>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "base/memory/memory_budget.h"
#include "base/text/secrets.h"
#include "http/fields/syntax.h"
#include "http/message.h"

namespace h2server {

namespace {

struct Meaning {
  int code;  // an errno value
  int status;
  Culprit culprit;
};
// Of an error that a handler did not handle.
constexpr Meaning meanings[] = {
    {EAGAIN, 503, Culprit::server},      // run_blocking(): too many calls wait
    {EBUSY, 503, Culprit::server},       //
    {ECANCELED, 503, Culprit::server},   // the exchange is to stop
    {EMFILE, 503, Culprit::system},      //
    {ENFILE, 503, Culprit::system},      //
    {ETIMEDOUT, 504, Culprit::server},   // with_timeout()
    {ENOSPC, 507, Culprit::system},      //
    {EDQUOT, 507, Culprit::system},      //
    {EMSGSIZE, 413, Culprit::client},    // Request::read_all()
    {ECONNRESET, 400, Culprit::client},  // Request::read()
    {EPROTO, 400, Culprit::client},      //
};

Failure failure_of_error(const Error& error) {
  Failure failure{.what = error.message()};
  const auto* const meaning = std::ranges::find(meanings, error.code, &Meaning::code);
  if (meaning == std::end(meanings)) return failure;
  failure.status = meaning->status;
  failure.culprit = meaning->culprit;
  return failure;
}

}  // namespace

Failure failure_of(const std::exception_ptr& exception) {
  Failure failure;
  try {
    std::rethrow_exception(exception);
  } catch (const HttpError& error) {
    failure = {.status = error.status(), .what = error.what()};
    if (error.status() < 500) failure.culprit = Culprit::client;
  } catch (const std::bad_expected_access<Error>& error) {
    failure = failure_of_error(error.error());
  } catch (...) {
    failure.what = http::text_of(exception);
  }
  failure.exception = exception;
  return failure;
}

namespace http {

namespace {

bool is_bodiless_error(const Response& response) noexcept {
  return response.status() >= 400 && std::holds_alternative<std::monostate>(response.body());
}

std::string_view name_of(Reach reach) noexcept {
  switch (reach) {
    case Reach::exchange:
      return "exchange";
    case Reach::connection:
      return "connection";
    case Reach::process:
      break;
  }
  return "process";
}

std::string_view name_of(Culprit culprit) noexcept {
  switch (culprit) {
    case Culprit::client:
      return "client";
    case Culprit::server:
      return "server";
    case Culprit::system:
      break;
  }
  return "system";
}

// A client's mistake is not logged: any client could fill the log.
void report(const ExchangeState& exchange, const Failure& failure,
            const char* subject = "handler of", const char* predicate = "failed") {
  if (exchange.composition != nullptr && exchange.composition->failure_hook) {
    try {
      exchange.composition->failure_hook(*exchange.request, failure);
    } catch (...) {
      base::log_error("the failure hook failed: {}", text_of(std::current_exception()));
    }
    return;
  }
  const bool stopped = exchange.stop.stopped();  // nobody waits for the response
  if (failure.culprit == Culprit::client || stopped) return;
  std::string room;
  base::log_error("{}, {}: {} {} {} {}: {}", name_of(failure.reach), name_of(failure.culprit),
                  subject, exchange.head.method_name,
                  base::hide_secrets(exchange.head.target, room), predicate, failure.what);
}

// Keeps the fields that the response of an error handler does not have.
Response with_fields_of(Response made, const Response& replaced) {
  for (const Response::Line& line : replaced.fields()) {
    const bool has = std::ranges::any_of(made.fields(), [&](const Response::Line& own) {
      return equals_ignoring_case(own.name, line.name);
    });
    if (!has) made.add(line.name, line.value);
  }
  return made;
}

Response response_of(const ExchangeState& exchange, const Failure& failure,
                     const Response& replaced) noexcept {
  if (exchange.composition == nullptr || !exchange.composition->error_handler)
    return error_response(failure.status);
  try {
    return with_fields_of(exchange.composition->error_handler(*exchange.request, failure),
                          replaced);
  } catch (...) {
    base::log_error("the error handler failed: {}", text_of(std::current_exception()));
    return error_response(failure.status);
  }
}

Response failed(const ExchangeState& exchange, const std::exception_ptr& exception) noexcept {
  Failure failure = failure_of(exception);
  // RFC 9110, 15.5.9: what was too slow is the request.
  if (failure.status == 504 && exchange.observed.cut_off == CutOff::too_slow) {
    failure.status = 408;
    failure.culprit = Culprit::client;
  }
  report(exchange, failure);
  return response_of(exchange, failure, Response());
}

// The error handler's response in place of an empty one, and of the library's own pages.
void complete(const ExchangeState& exchange, Response& response) noexcept {
  const bool asks = exchange.composition != nullptr && exchange.composition->error_handler;
  if (!asks || !(is_bodiless_error(response) || has_standard_page(response))) return;
  const Failure failure{.culprit = response.status() < 500 ? Culprit::client : Culprit::server,
                        .status = response.status(),
                        .what = std::string(reason_phrase(response.status()))};
  response = response_of(exchange, failure, response);
}

std::size_t chain_size(const ExchangeState& exchange) noexcept {
  return exchange.chain != nullptr ? exchange.chain->size() : 0;
}

// Calls the Before of the plain middlewares from `index` on, which it moves to the first that has
// answered or that has to be awaited, or to the end.
std::optional<Response> enter(ExchangeState& exchange, std::size_t& index) noexcept {
  for (; index < chain_size(exchange); ++index) {
    const Middleware& middleware = (*exchange.chain)[index];
    if (middleware.around()) return std::nullopt;
    if (!middleware.before()) continue;
    try {
      std::optional<Response> response = middleware.before()(*exchange.request);
      if (response) return response;
    } catch (...) {
      return failed(exchange, std::current_exception());
    }
  }
  return std::nullopt;
}

// Calls the After of the middlewares [first, last), the innermost first.
void leave(ExchangeState& exchange, std::size_t first, std::size_t last,
           Response& response) noexcept {
  complete(exchange, response);
  for (std::size_t i = last; i-- > first;) {
    const Middleware::After& after = (*exchange.chain)[i].after();
    if (!after) continue;
    try {
      after(*exchange.request, response);
    } catch (...) {
      response = failed(exchange, std::current_exception());
    }
  }
}

// Runs the handler's coroutine up to its first wait.
std::optional<Response> begin_coroutine(ExchangeState& exchange) {
  const Handler::Coroutine* const coroutine = exchange.handler->coroutine();
  if (coroutine == nullptr) return std::nullopt;
  Task<Response> task = (*coroutine)(*exchange.request);
  task.stop_by(exchange.stop);
  if (task.start()) return task.take();
  exchange.begun.emplace(std::move(task));
  return std::nullopt;
}

// While memory is tight, no handler begins that may wait, unless it has an attempt, and decides
// itself; once there is nothing left, none that makes a response.
bool must_refuse(const ExchangeState& exchange) noexcept {
  if (exchange.handler->attempt() != nullptr || !memory_is_tight()) return false;
  if (exchange.composition != nullptr && exchange.composition->serves_when_tight) return false;
  return exchange.handler->plain() == nullptr || base::MemoryBudget::of_process().full();
}

// The handler, if it answers at once.
std::optional<Response> try_handler(ExchangeState& exchange, Begin begin) noexcept {
  if (exchange.handler == nullptr) return std::move(exchange.response);
  try {
    if (must_refuse(exchange)) return refuse_for_memory();
    std::optional<Response> response = answer_at_once(*exchange.handler, *exchange.request);
    if (!response && begin == Begin::coroutines) response = begin_coroutine(exchange);
    return response;
  } catch (...) {
    return failed(exchange, std::current_exception());
  }
}

Task<Response> call_handler(ExchangeState& exchange) {
  std::exception_ptr failure;
  try {
    if (const Handler::Duplex* const duplex = exchange.handler->duplex()) {
      exchange.duplex = std::make_unique<Duplex>(exchange);
      Response response = co_await exchange.duplex->begin(*duplex);
      co_return std::move(response);
    }
    if (exchange.begun) {
      Task<Response> begun = *std::exchange(exchange.begun, std::nullopt);
      Response response = co_await begun;
      co_return std::move(response);
    }
    Response response = co_await (*exchange.handler->coroutine())(*exchange.request);
    co_return std::move(response);
  } catch (...) {
    failure = std::current_exception();
  }
  co_return failed(exchange, failure);
}

Task<Response> call_around(ExchangeState& exchange, std::size_t index) {
  std::exception_ptr failure;
  try {
    const Middleware& middleware = (*exchange.chain)[index];
    Response response = co_await middleware.around()(*exchange.request, Next(exchange, index + 1));
    co_return std::move(response);
  } catch (...) {
    failure = std::current_exception();
  }
  co_return failed(exchange, failure);
}

}  // namespace

bool memory_is_tight() noexcept { return base::MemoryBudget::of_process().tight(); }

Response refuse_for_memory() {
  base::MemoryBudget::of_process().count_refused();
  Response response = error_response(503);
  response.add("Retry-After", "1");
  return response;
}

std::string text_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

namespace {

void report_cut_off(ExchangeState& exchange, Failure failure, const char* subject,
                    const char* predicate) {
  if (std::exchange(exchange.observed.cut_is_told, true)) return;
  if (exchange.head.version != Version::http_2) failure.reach = Reach::connection;
  report(exchange, failure, subject, predicate);
}

}  // namespace

void report_cut_off(ExchangeState& exchange, const std::exception_ptr& exception) noexcept {
  report_cut_off(exchange, failure_of(exception), "handler of", "failed after its head");
}

void report_cut_off(ExchangeState& exchange, const Error& error) noexcept {
  if (exchange.stop.stopped()) return;  // which ends what the body waits for
  report_cut_off(exchange, failure_of_error(error), "response to", "was cut off");
}

std::optional<Response> answer_at_once(const Handler& handler, Request& request) {
  if (const Handler::Plain* const plain = handler.plain()) return (*plain)(request);
  if (const Handler::Attempt* const attempt = handler.attempt()) return (*attempt)(request);
  return std::nullopt;
}

std::optional<Response> answer_at_once(ExchangeState& exchange, Begin begin) noexcept {
  std::size_t index = 0;
  std::optional<Response> response = enter(exchange, index);
  if (!response && index == chain_size(exchange)) response = try_handler(exchange, begin);
  exchange.entered = index;
  if (response) leave(exchange, 0, index, *response);
  return response;
}

Task<Response> answer(ExchangeState& exchange) {
  const std::size_t index = exchange.entered;
  Task<Response> inside =
      index < chain_size(exchange) ? call_around(exchange, index) : call_handler(exchange);
  inside.stop_by(exchange.stop);
  Response response = co_await inside;
  leave(exchange, 0, index, response);
  co_return std::move(response);
}

}  // namespace http

namespace {

Task<Response> go_on(http::ExchangeState& exchange, std::size_t first) {
  std::size_t index = first;
  std::optional<Response> response = http::enter(exchange, index);
  if (!response && index < http::chain_size(exchange)) {
    response = co_await http::call_around(exchange, index);
  } else if (!response) {
    response = http::try_handler(exchange, http::Begin::plain_functions);
    if (!response) response = co_await http::call_handler(exchange);
  }
  http::leave(exchange, first, index, *response);
  co_return *std::move(response);
}

}  // namespace

Task<Response> Next::operator()(Request&) const { return go_on(*exchange_, index_); }

}  // namespace h2server
