// Fixture: a server whose handlers write while they read, and what they note for the test.
#pragma once

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "h2server/channel.h"
#include "h2server/exchange.h"
#include "h2server/server.h"
#include "h2server/timing.h"
#include "h2server/when_all.h"
#include "server/client.h"

namespace h2server::tests {

// What handlers note. Written on the worker's thread.
struct Notes {
  Signal entered;
  Signal ended;
  std::atomic<bool> open{false};  // lets gate() go on
  std::atomic<std::size_t> bytes{0};
  std::atomic<int> error{0};
  std::atomic<StopReason> reason{StopReason::none};
};

// Notes the end of a handler, however it ends.
class EndNote {
 public:
  EndNote(Exchange& exchange, Notes& notes) : exchange_(exchange), notes_(notes) {}
  EndNote(const EndNote&) = delete;
  EndNote& operator=(const EndNote&) = delete;
  ~EndNote() {
    notes_.reason = exchange_.stop_token().reason();
    notes_.ended.set();
  }

 private:
  Exchange& exchange_;
  Notes& notes_;
};

using ExchangeHandler = Task<void> (*)(Exchange&, Notes&);

inline Task<void> echo(Exchange& exchange, Notes& notes) {
  const EndNote note(exchange, notes);
  exchange.respond(Response(200));
  notes.entered.set();
  std::size_t bytes = 0;
  for (;;) {
    const Result<std::string_view> piece = co_await exchange.request().read();
    if (!piece) notes.error = piece.error().code;
    if (!piece) co_return;
    if (piece->empty()) break;
    bytes += piece->size();
    const Result<void> written = co_await exchange.write(std::string(*piece));
    if (!written) notes.error = written.error().code;
    if (!written) co_return;
  }
  exchange.finish({{"Sum", std::to_string(bytes)}});
}

// Two tasks that read, which is wrong.
inline Task<void> read_twice(Exchange& exchange, Notes& notes) {
  const EndNote note(exchange, notes);
  try {
    co_await when_all(exchange.request().read(), exchange.request().read());
  } catch (const std::logic_error&) {
    notes.error = EBUSY;
  }
  exchange.respond(Response(200));
}

inline Task<void> read_into(Request& request, Channel<std::string>& pieces) {
  for (;;) {
    const Result<std::string_view> piece = co_await request.read();
    if (!piece || piece->empty()) break;
    const Result<void> sent = co_await pieces.send(std::string(*piece));
    if (!sent) break;
  }
  pieces.close();
}

inline Task<void> write_from(Exchange& exchange, Channel<std::string>& pieces) {
  for (;;) {
    Result<std::string> piece = co_await pieces.receive();
    if (!piece) break;
    const Result<void> written = co_await exchange.write("<" + *std::move(piece) + ">");
    if (!written) break;
  }
}

// As echo(), by two tasks.
inline Task<void> echo_by_two(Exchange& exchange, Notes& notes) {
  const EndNote note(exchange, notes);
  exchange.respond(Response(200));
  notes.entered.set();
  Channel<std::string> pieces(4);
  co_await when_all(read_into(exchange.request(), pieces), write_from(exchange, pieces));
}

inline Task<void> answer_unread(Exchange& exchange, Notes& notes) {
  const EndNote note(exchange, notes);
  exchange.respond(Response(200));
  const Result<void> written = co_await exchange.write("early");
  if (written) exchange.finish();
}

inline Task<void> count_after_204(Exchange& exchange, Notes& notes) {
  const EndNote note(exchange, notes);
  // So that the first bytes of the body have been received, too.
  const Result<std::string_view> first = co_await exchange.request().read();
  if (first) notes.bytes += first->size();
  exchange.respond(Response(204));
  const Result<void> written = co_await exchange.write("dropped");
  if (!written) notes.error = written.error().code;
  const Result<std::string> rest = co_await exchange.request().read_all(1000);
  if (rest) notes.bytes += rest->size();
}

inline Task<void> throw_before(Exchange&, Notes&) {
  throw std::runtime_error("as the test wants");
  co_return;
}

inline Task<void> throw_after(Exchange& exchange, Notes&) {
  exchange.respond(Response(200));
  const Result<void> written = co_await exchange.write("begun");
  if (written) throw std::runtime_error("as the test wants");
}

inline Task<void> answer_nothing(Exchange&, Notes&) { co_return; }

inline Task<void> wait_long(Exchange& exchange, Notes& notes) {
  const EndNote note(exchange, notes);
  exchange.respond(Response(200));
  notes.entered.set();
  const Result<void> slept = co_await sleep_for(std::chrono::hours(1));
  if (!slept) notes.error = slept.error().code;
}

// Ends its response after all if it is stopped.
inline Task<void> finish_late(Exchange& exchange, Notes& notes) {
  const EndNote note(exchange, notes);
  exchange.respond(Response(200));
  const Result<void> written = co_await exchange.write("begun");
  if (!written) co_return;
  notes.entered.set();
  const bool in_time = exchange.request().field("deadline") == std::nullopt;
  if (!in_time) exchange.request().set_deadline(std::chrono::milliseconds(1));
  const Result<void> slept = co_await sleep_for(std::chrono::hours(1));
  exchange.finish({{"End", slept ? "in time" : "late"}});
}

// Ends without finish() if it is stopped.
inline Task<void> cut_late(Exchange& exchange, Notes& notes) {
  const EndNote note(exchange, notes);
  exchange.respond(Response(200));
  const Result<void> written = co_await exchange.write("begun");
  if (!written) co_return;
  exchange.request().set_deadline(std::chrono::milliseconds(1));
  const Result<void> slept = co_await sleep_for(std::chrono::hours(1));
  if (!slept) notes.error = slept.error().code;
}

inline Task<void> gate(Exchange& exchange, Notes& notes) {
  const EndNote note(exchange, notes);
  const Result<std::string> body = co_await exchange.request().read_all(1000);
  notes.entered.set();
  while (!notes.open) {
    const Result<void> slept = co_await sleep_for(std::chrono::milliseconds(1));
    if (!slept) co_return;
  }
  exchange.respond(Response(200));
  const Result<void> written = co_await exchange.write("gate" + body.value_or("?"));
  if (written) exchange.finish();
}

// Goes on after the end of its response.
inline Task<void> finish_early(Exchange& exchange, Notes& notes) {
  const EndNote note(exchange, notes);
  exchange.respond(Response(200));
  const Result<void> written = co_await exchange.write("begun");
  if (!written) co_return;
  exchange.finish();
  const Result<std::string> body = co_await exchange.request().read_all(1000);
  if (body) notes.bytes = body->size();
}

inline constexpr std::size_t flood_pieces = 2048;
inline constexpr std::size_t flood_piece_bytes = 64 * 1024;

inline Task<void> flood(Exchange& exchange, Notes& notes) {
  const EndNote note(exchange, notes);
  exchange.respond(Response(200));
  notes.entered.set();
  for (std::size_t i = 0; i < flood_pieces; ++i) {
    const Result<void> written = co_await exchange.write(std::string(flood_piece_bytes, 'f'));
    if (!written) notes.error = written.error().code;
    if (!written) co_return;
    notes.bytes += flood_piece_bytes;
  }
}

// Returns what the call throws; std::logic_error is a misuse.
template <class F>
std::string outcome_of(F call) {
  try {
    call();
    return "fine ";
  } catch (const std::logic_error&) {
    return "misuse ";
  }
}

inline Task<std::string> outcome_of_write(Exchange& exchange) {
  bool misused = false;
  try {
    const Result<void> written = co_await exchange.write("x");
    co_return written ? "fine " : "failed ";
  } catch (const std::logic_error&) {
    misused = true;
  }
  co_return misused ? "misuse " : "";
}

inline Task<void> misuse(Exchange& exchange, Notes& notes) {
  const EndNote note(exchange, notes);
  std::string outcomes = co_await outcome_of_write(exchange);
  outcomes += outcome_of([&] { exchange.finish(); });
  outcomes += outcome_of([&] { exchange.respond(Response(200, "with a body")); });
  outcomes += outcome_of([&] { exchange.respond(Response(200)); });
  outcomes += outcome_of([&] { exchange.respond(Response(200)); });
  const Result<void> written = co_await exchange.write(outcomes);
  exchange.finish({{"Which", "first"}});
  exchange.finish({{"Which", "second"}});
  const std::string after = co_await outcome_of_write(exchange);
  notes.error = written && after == "misuse " ? 0 : EPROTO;
}
inline constexpr std::string_view misuse_outcomes = "misuse misuse misuse fine misuse ";

class ExchangeFixture : public testing::TestWithParam<ServerScheme> {
 protected:
  // A server whose route "/" has the handler.
  void serve(ExchangeHandler handler, ServerOptions options = cleartext(GetParam(), 2)) {
    server_ = std::make_unique<Server>(std::move(options));
    server_->any("/", [this, handler](Exchange& exchange) { return handler(exchange, notes_); });
    server_->get("/plain", [](Request&) { return Response(200, "plain"); });
    const auto started = server_->start();
    ASSERT_TRUE(started) << started.error();
    port_ = port_of(*server_);
  }
  // Returns false if the scheme's connections have no event loop.
  static bool has_loop() {
    return GetParam() == ServerScheme::reuseport || GetParam() == ServerScheme::acceptor;
  }

  Notes notes_;  // outlives the server
  std::unique_ptr<Server> server_;
  std::uint16_t port_ = 0;
};

}  // namespace h2server::tests
