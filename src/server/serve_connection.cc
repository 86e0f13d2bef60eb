#include "server/serve_connection.h"

#include <memory>
#include <string>
#include <vector>

#include "base/assert.h"
#include "http/h1/connection.h"
#include "http/h2/connection.h"
#include "net/tcp_transport.h"
#include "net/tls_transport.h"

namespace h2server::server {

namespace {

// A connection that has not chosen its protocol yet. It counts as idle: a drain cancels its read.
class Undecided final : private http::Drainable {
 public:
  Undecided(net::Transport& transport, http::DrainList& list) : transport_(transport), list_(list) {
    list.add(*this);
    list.set_idle(*this);
  }
  ~Undecided() { list_.remove(*this); }

 private:
  void drain() override { transport_.cancel_read(); }
  void cancel() override {}  // it has no exchange
  void shed() override { transport_.cancel_read(); }
  void name_unfinished(std::vector<std::string>&) const override {}

  net::Transport& transport_;
  http::DrainList& list_;
};

struct Opening {
  bool http2 = false;
  std::string early;  // a part of the preface, received before `first`
  io::Lease first;
};

// Reads until the bytes differ from HTTP/2's preface or complete it (RFC 9113, 3.3). Returns null
// if the connection ended or timed out.
Task<std::unique_ptr<Opening>> read_opening(WorkerContext& worker, net::Transport& transport) {
  const Undecided undecided(transport, worker.server_context.connections);
  constexpr std::string_view preface = http::h2::preface;
  auto opening = std::make_unique<Opening>();
  const std::int64_t until_ms = transport.engine().now_ms() + worker.shared.limits.idle_ms_max;
  for (;;) {
    const std::int64_t left_ms = until_ms - transport.engine().now_ms();
    if (left_ms <= 0) co_return nullptr;
    Result<io::Lease> lease = co_await transport.read(static_cast<std::uint32_t>(left_ms));
    if (!lease || lease->empty()) co_return nullptr;
    const std::string_view wanted = preface.substr(opening->early.size());
    const std::string_view got = lease->bytes().substr(0, wanted.size());
    if (got == wanted || !wanted.starts_with(got)) {
      opening->http2 = got == wanted;
      opening->first = *std::move(lease);
      co_return std::move(opening);
    }
    opening->early += got;
  }
}

Task<void> serve_http1(WorkerContext& worker, net::Transport& transport,
                       std::unique_ptr<Opening> opening, bool encrypted) {
  http::h1::Connection connection(transport, worker.server_context, worker.h1_exchanges, encrypted,
                                  std::move(opening->early), std::move(opening->first));
  opening.reset();
  co_await connection.run();
}

Task<void> serve_http2(WorkerContext& worker, net::Transport& transport,
                       std::unique_ptr<Opening> opening, bool encrypted) {
  if (worker.make_loop) {
    io::Engine* const loop = worker.make_loop();
    if (loop == nullptr) co_return;
    transport.move_to(*loop);
  }
  http::h2::Connection connection(transport, worker.server_context, worker.h2_exchanges,
                                  worker.shared.http2, encrypted);
  connection.take(opening->early);
  connection.take(opening->first.bytes());
  opening.reset();
  co_await connection.run();
}

// The ticket lives in the coroutine frame, so it is released when the connection ends.

Task<void> serve_tls(WorkerContext& worker, base::Fd connection, Admission::Ticket /*ticket*/) {
  const base::Counted open(worker.counters.connections);
  ASSERT(worker.shared.tls != nullptr);
  net::TlsTransport transport(worker.engine, std::move(connection), *worker.shared.tls);
  {
    const Undecided undecided(transport, worker.server_context.connections);
    const Limits& limits = worker.shared.limits;
    const Result<void> shaken =
        co_await transport.handshake(limits.handshake_ms_max, limits.linger_ms_max);
    if (!shaken) co_return;
  }
  auto opening = std::make_unique<Opening>();
  if (transport.protocol() == "h2") {
    co_await serve_http2(worker, transport, std::move(opening), true);
  } else {
    co_await serve_http1(worker, transport, std::move(opening), true);
  }
}

Task<void> serve_cleartext(WorkerContext& worker, base::Fd connection,
                           Admission::Ticket /*ticket*/) {
  const base::Counted open(worker.counters.connections);
  net::TcpTransport transport(worker.engine, std::move(connection));
  std::unique_ptr<Opening> opening = co_await read_opening(worker, transport);
  if (opening == nullptr) co_return;
  if (opening->http2) {
    co_await serve_http2(worker, transport, std::move(opening), false);
  } else {
    co_await serve_http1(worker, transport, std::move(opening), false);
  }
}

}  // namespace

Task<void> serve_connection(WorkerContext& worker, Accepted connection, Admission::Ticket ticket) {
  worker.counters.accepted.up();
  return connection.cleartext
             ? serve_cleartext(worker, std::move(connection.socket), std::move(ticket))
             : serve_tls(worker, std::move(connection.socket), std::move(ticket));
}

}  // namespace h2server::server
