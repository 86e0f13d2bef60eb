#include "server/serve_connection.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/keyed_hash.h"
#include "base/memory/memory_budget.h"
#include "http/answer.h"
#include "http/h1/connection.h"
#include "http/h2/connection.h"
#include "net/tcp_transport.h"
#include "net/tls/tls_transport.h"

namespace h2server::server {

namespace {

// A connection that has not chosen its protocol yet. It counts as idle: a drain cancels its read.
class Undecided final : private http::Drainable {
 public:
  // `handshake`: what its handshake takes, if it has one.
  Undecided(net::Transport& transport, http::DrainList& list, std::uint64_t client,
            const base::MemoryCharge* handshake = nullptr)
      : transport_(transport), list_(list), client_(client), handshake_(handshake) {
    list.add(*this);
    list.set_idle(*this);
  }
  ~Undecided() { list_.remove(*this); }

 private:
  void drain() override { transport_.cancel_read(); }
  void retire() override {}  // its first request may be on its way
  void cancel() override {}  // it has no exchange
  void shed() override { transport_.cancel_read(); }
  void begin_cut_off() noexcept override { transport_.break_off(); }
  std::size_t bytes_held() const noexcept override {
    return handshake_ != nullptr ? handshake_->bytes() : 0;
  }
  std::uint64_t client() const noexcept override { return client_; }
  std::string client_address() const override { return transport_.client().host; }
  void name_unfinished(std::vector<std::string>&) const override {}

  net::Transport& transport_;
  http::DrainList& list_;
  const std::uint64_t client_;
  const base::MemoryCharge* const handshake_;
};

struct Opening {
  bool http2 = false;
  std::string early;  // a part of the preface, received before `first`
  io::Lease first;
};

// Reads until the bytes differ from the preface, HTTP/2's (RFC 9113, 3.3), or complete it. Returns
// null if the connection ended or timed out.
Task<std::unique_ptr<Opening>> read_opening(WorkerContext& worker, net::Transport& transport,
                                            std::uint64_t client) {
  const Undecided undecided(transport, worker.connections, client);
  const std::string_view preface = worker.shared.multiplexed.preface;
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

// Takes the header of the PROXY protocol. Returns false if there is none, or one of a peer that is
// not trusted.
Task<bool> take_proxy_header(WorkerContext& worker, net::TcpTransport& transport) {
  const Undecided undecided(transport, worker.connections, 0);
  const std::string peer = transport.client().host;  // empty also once it has reset the connection
  const bool trusted =
      peer.empty() ? transport.is_unix_socket() : worker.shared.trusted_proxies.contains(peer);
  if (!trusted) co_return false;
  const Result<void> read = co_await transport.read_proxy_header(worker.shared.limits.head_ms_max);
  co_return read.has_value();
}

Task<void> serve_http1(WorkerContext& worker, net::Transport& transport,
                       std::unique_ptr<Opening> opening, http::ConnectionTraits traits) {
  http::h1::Connection connection(transport, worker, worker.h1_exchanges, traits,
                                  std::move(opening->early), std::move(opening->first));
  opening.reset();
  co_await connection.run();
}

Task<void> serve_http2(WorkerContext& worker, net::Transport& transport,
                       std::unique_ptr<Opening> opening, http::ConnectionTraits traits) {
  io::Engine* const loop = worker.engine.loop();  // HTTP/2 reads and writes at the same time
  if (loop == nullptr) co_return;
  if (loop != &worker.engine) transport.move_to(*loop);
  http::h2::Connection connection(
      transport, worker, worker.h2_exchanges,
      worker.shared.multiplexed.make_session(worker.limits, worker.h2_exchanges, worker.windows),
      traits);
  connection.take(opening->early, std::move(opening->first));
  opening.reset();
  co_await connection.run();
}

// Returns a number for the client, whose work takes turns with that of others: for its address, or,
// where addresses are not counted, for the connection. Of a proxy that is believed by the fields of
// its requests alone, all clients are one.
std::uint64_t number_of_client(const Admission::Ticket& ticket) {
  static std::atomic<std::uint64_t> connections{0};
  const std::uint64_t address = ticket.client();
  return address != 0 ? address : connections.fetch_add(1, std::memory_order_relaxed) + 1;
}

using Record = std::unique_ptr<ConnectionRecord>;

// Returns the client's address for what observes the connection. It is asked for at the start: a
// client that resets its connection has none any more.
Address client_of(const WorkerContext& worker, const net::Transport& transport) {
  return worker.observation != nullptr ? transport.client() : Address();
}

// Returns null if nobody observes.
Record observe(WorkerContext& worker, const net::Transport& transport, Address client, bool http2) {
  if (worker.observation == nullptr) return nullptr;
  return worker.observation->observe(
      transport, std::move(client),
      http2 ? observe::Protocol::http_2 : observe::Protocol::http_1_1);
}

void count_handshake(WorkerContext& worker, const net::TlsTransport& transport, int error) {
  if (worker.observation == nullptr) return;
  observe::Handshake result =
      transport.resumed() ? observe::Handshake::resumed : observe::Handshake::full;
  if (error == ETIMEDOUT) result = observe::Handshake::timed_out;
  if (error == ECONNRESET) result = observe::Handshake::client_left;
  if (error != 0 && error != ETIMEDOUT && error != ECONNRESET) {
    switch (transport.handshake_failure()) {
      case net::HandshakeFailure::alert:
        result = observe::Handshake::refused_by_client;
        break;
      case net::HandshakeFailure::no_common_choice:
        result = observe::Handshake::no_common_choice;
        break;
      case net::HandshakeFailure::other:
        result = observe::Handshake::failed;
        break;
    }
  }
  worker.observation->count(result, transport.group());
}

http::ConnectionTraits traits_of(WorkerContext& worker, const net::TlsTransport& transport) {
  http::ConnectionTraits traits{.encrypted = true};
  const http::Composition* const composition = worker.composition;
  if (composition == nullptr || composition->hosts.empty()) return traits;
  // A resumed session of TLS 1.2 tells the name of the first handshake.
  traits.names_host = !transport.server_name().empty() && !transport.tells_old_name();
  traits.named = composition->hosts.find(transport.server_name());
  return traits;
}

// The ticket lives in the coroutine frame, so it is released when the connection ends.

Task<void> serve_tls(WorkerContext& worker, Accepted connection, Admission::Ticket ticket) {
  std::uint64_t client_number = number_of_client(ticket);
  const base::Counted open(worker.counters.connections);
  const std::shared_ptr<const net::TlsContext> tls = worker.shared.tls.get();
  ASSERT(tls != nullptr);
  net::TlsTransport transport(worker.engine, std::move(connection.socket), *tls);
  transport.tcp().set_listener(connection.kind.number);
  if (connection.kind.proxy_protocol) {
    const bool begun = co_await take_proxy_header(worker, transport.tcp());
    if (!begun) co_return;
    client_number = base::keyed_hash(transport.client().host);
  }
  // Where threads block, nobody is cut off: none begins while there is no memory left.
  if (!worker.engine.has_loop() && base::MemoryBudget::of_process().full()) co_return;
  const Address client = client_of(worker, transport);
  {
    const Undecided undecided(transport, worker.connections, client_number,
                              &transport.handshake_memory());
    const Limits& limits = worker.shared.limits;
    const Result<void> shaken =
        co_await transport.handshake(limits.handshake_ms_max, limits.linger_ms_max);
    count_handshake(worker, transport, shaken ? 0 : shaken.error().code);
    if (!shaken) co_return;
    if (transport.protocol() == net::challenge_protocol) {  // the certificate was the answer
      co_await transport.finish(limits.linger_ms_max);
      co_return;
    }
  }
  http::ConnectionTraits traits = traits_of(worker, transport);
  const bool http2 = transport.protocol() == worker.shared.multiplexed.alpn;
  const Record record = observe(worker, transport, client, http2);
  traits.observer = record.get();
  traits.client = client_number;
  auto opening = std::make_unique<Opening>();
  if (http2) {
    co_await serve_http2(worker, transport, std::move(opening), traits);
  } else {
    co_await serve_http1(worker, transport, std::move(opening), traits);
  }
}

Task<void> serve_cleartext(WorkerContext& worker, Accepted connection, Admission::Ticket ticket) {
  std::uint64_t client_number = number_of_client(ticket);
  const base::Counted open(worker.counters.connections);
  net::TcpTransport transport(worker.engine, std::move(connection.socket));
  transport.set_listener(connection.kind.number);
  if (connection.kind.proxy_protocol) {
    const bool begun = co_await take_proxy_header(worker, transport);
    if (!begun) co_return;
    client_number = base::keyed_hash(transport.client().host);
  }
  const Address client = client_of(worker, transport);
  std::unique_ptr<Opening> opening = co_await read_opening(worker, transport, client_number);
  if (opening == nullptr) co_return;
  const Record record = observe(worker, transport, client, opening->http2);
  const http::ConnectionTraits traits{.observer = record.get(), .client = client_number};
  if (opening->http2) {
    co_await serve_http2(worker, transport, std::move(opening), traits);
  } else {
    co_await serve_http1(worker, transport, std::move(opening), traits);
  }
}

}  // namespace

Task<void> serve_connection(WorkerContext& worker, Accepted connection, Admission::Ticket ticket) {
  worker.counters.accepted.up();
  return connection.kind.cleartext
             ? serve_cleartext(worker, std::move(connection), std::move(ticket))
             : serve_tls(worker, std::move(connection), std::move(ticket));
}

}  // namespace h2server::server
