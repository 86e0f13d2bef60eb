// An HTTP/1.x connection (RFC 9112): reads requests, calls their handlers, writes the responses.
//
// Requests that arrive together and are answered at once share one write. One coroutine serves one
// request at a time; a handler that waits delays the requests after it, as the protocol demands.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/memory/buffer_chain.h"
#include "base/memory/gathered_bytes.h"
#include "base/timer_wheel.h"
#include "coro/event.h"
#include "h2server/task_group.h"
#include "http/h1/body_decoder.h"
#include "http/h1/parser.h"
#include "http/h1/trailer_section.h"
#include "http/observer.h"
#include "http/worker_context.h"
#include "io/lease.h"
#include "net/transport.h"

namespace h2server::http::h1 {

// What a connection needs from the first byte of a request to the last of its response. An idle
// connection has none.
struct H1Exchange : ExchangeState {
  io::Lease lease;
  std::string_view input;           // the part of lease not parsed yet
  base::GatheredBytes head_buffer;  // a head that arrives in several leases, until it is whole
  std::int64_t head_due_ms = 0;
  std::optional<Parser> parser;
  base::BufferChain output{base::BufferChain::Begin::small};
  base::Pace sending{0, 1};    // of the connection, while it is busy
  base::Pace receiving{0, 1};  // of the request's body

  base::BufferChain writing{base::BufferChain::Begin::small};  // the write in flight
  coro::Event written;  // for a flush that waits for the one in flight
  bool flushing = false;
  bool handling = false;           // the handler, or the source of its response, may wait
  bool starts_watch = false;       // watch() runs
  TaskGroup watching;              // watch_client()
  base::Timer gone;                // tells that the client has left
  io::Lease ahead;                 // what that has received
  bool unanswered = false;         // the handler has to be awaited
  TrailerSection trailers{arena};  // the request's
  BodyDecoder decoder{Framing{}};
  std::size_t dropped = 0;  // discarded bytes of the request's body
  bool owes_continue = false;
  bool responding = false;       // the response has begun
  bool head_given_back = false;  // but for what is still needed

  void take(io::Lease arrived) noexcept {
    lease = std::move(arrived);
    input = lease.bytes();
  }
  // Prepares for the next request.
  void end_exchange() noexcept;
  void clear() noexcept;
};

class Connection final : private Drainable, private coro::StopState::Observer {
 public:
  // All references must outlive the connection. `early`, followed by `first`, has been read
  // already.
  Connection(net::Transport& transport, WorkerContext& context, base::Pool<H1Exchange>& exchanges,
             const ConnectionTraits& traits, std::string early, io::Lease first);
  ~Connection();

  // Serves requests until the connection ends.
  Task<void> run();

 private:
  // How the connection ends after the current exchange.
  enum class End : std::uint8_t {
    open,    // it stays open
    finish,  // everything was read and answered
    linger,  // the peer may still be sending
    abort,   // a response is incomplete, and the peer must notice
  };

  // The current request's body, as the handler reads it.
  class IncomingBody final : public BodySource {
   public:
    explicit IncomingBody(Connection& connection) : connection_(connection) {}
    Task<Result<std::string_view>> read() override;
    void interrupt() noexcept override {
      interrupted_ = true;
      connection_.transport_.cancel_read();
    }
    void inform(int status, std::span<const Field> fields) override;
    std::span<const Field> trailers() const noexcept override;

   private:
    Connection& connection_;
    bool interrupted_ = false;
  };

  void drain() override;
  // A request may be on its way to an idle connection; its response ends it.
  void retire() override {}
  void cancel() override;
  void shed() override { transport_.cancel_read(); }
  void name_unfinished(std::vector<std::string>& names) const override;
  void each_exchange(const std::function<void(const ExchangeState&)>& visit) const override;
  ConnectionObserver* observer() const noexcept override { return traits_.observer; }
  void begin_cut_off() noexcept override;
  std::size_t bytes_held() const noexcept override;
  std::uint64_t client() const noexcept override { return traits_.client; }
  std::string client_address() const override { return transport_.client().host; }

  void take_exchange();
  Task<void> serve_arrived();
  Parser::Verdict parse();
  Task<bool> wait_for_rest_of_head();
  void refuse(int status);

  bool serve_at_once();
  Task<void> serve_on();
  void on_hook() noexcept override { watch(); }
  void on_stop() noexcept override;
  void watch();
  void stop_soon() noexcept;
  void note_cut_off(CutOff why) noexcept;
  Task<void> watch_client();
  void give_back_head();
  Task<void> end_handler(bool sent);
  void begin_exchange();
  void observe_end();
  void begin_response();
  Task<bool> send_body();
  bool append_body();
  Task<bool> drop_request_body();
  void drop_arrived_body();

  [[nodiscard]] bool must_close_after_response() const noexcept;
  // Returns true if the response's body, or the handler, may still read the request's.
  [[nodiscard]] bool source_may_read() const noexcept {
    const bool runs = exchange_->duplex != nullptr && exchange_->duplex->running();
    return runs || exchange_->outgoing.source() != nullptr;
  }
  [[nodiscard]] std::size_t output_bytes_max() const noexcept;
  Task<bool> flush();

  std::uint64_t requests_ = 0;  // begun so far
  net::Transport& transport_;
  WorkerContext& context_;
  const ConnectionTraits traits_;
  End end_ = End::open;
  bool idle_ = false;  // waits for the first byte of a request

  IncomingBody incoming_{*this};              // the current request's
  base::Pool<H1Exchange>::Pointer exchange_;  // null while idle
};

}  // namespace h2server::http::h1
