// Connection: an HTTP/2 connection (RFC 9113). Moves bytes between the transport and the
// session, and requests from the session to their handlers. The session parses and writes the
// frames.
//
// One coroutine reads, one writes, and one runs for each handler or body that waits, all on the
// transport's engine. All answers to one receive leave in one write. No handler runs inside a call
// of the session: the connection pulls events and handles each after the call has returned.
#pragma once

#include <memory>
#include <string_view>

#include "base/memory/buffer_chain.h"
#include "base/pace.h"
#include "coro/event.h"
#include "h2server/task_group.h"
#include "http/h2/h2_exchange.h"
#include "http/h2/session.h"
#include "http/observer.h"
#include "http/worker_context.h"
#include "net/transport.h"

namespace h2server::http::h2 {

class Connection final : private Drainable {
 public:
  // All must outlive the connection.
  Connection(net::Transport& transport, WorkerContext& context, base::Pool<H2Exchange>& exchanges,
             std::unique_ptr<Session> session, const ConnectionTraits& traits);
  ~Connection();

  // Takes bytes read before run(), if there are any: `early`, then `first`. Their answers leave in
  // the first write, with our SETTINGS.
  void take(std::string_view early, io::Lease first);
  // Serves the connection until it ends.
  Task<void> run();

 private:
  friend class IncomingBody;

  void drain() override;
  void cancel() override;
  void shed() override;
  void name_unfinished(std::vector<std::string>& names) const override;
  void each_exchange(const std::function<void(const ExchangeState&)>& visit) const override;
  ConnectionObserver* observer() const noexcept override { return traits_.observer; }
  void begin_cut_off() noexcept override;
  std::size_t bytes_held() const noexcept override;
  std::uint64_t client() const noexcept override { return traits_.client; }
  std::string client_address() const override { return transport_.client().host; }

  Task<void> write_all();
  Task<void> wait_for_handlers();
  void consume(H2Exchange& exchange, std::size_t bytes, Consumed by);
  bool receive(std::string_view bytes);
  bool handle_received();
  Task<bool> handle_rest();
  bool read_on_after(int error);
  void note_failed_write(const Error& error);
  void close_all();
  void stop(H2Exchange& exchange, StopReason reason);
  void give_up_response(H2Exchange& exchange);
  void want_write();
  void shorten_idle_timeout();
  [[nodiscard]] std::uint32_t silence_ms_max() const noexcept;
  [[nodiscard]] std::uint32_t wait_ms() const noexcept;
  [[nodiscard]] bool settings_overdue() const noexcept;
  void watch_block();
  void check_deadlines();
  void check_exchanges(std::int64_t elapsed_ms);
  // What the client had to provide during `elapsed_ms`.
  struct Waiting {
    std::int64_t elapsed_ms;
    bool for_content;
    bool for_window;
    bool for_connection_window;
  };
  [[nodiscard]] bool keeps_pace(H2Exchange& exchange, const Waiting& waiting);
  [[nodiscard]] bool has_sent() const noexcept;
  [[nodiscard]] std::size_t output_bytes_max() const noexcept;

  void handle_events();
  void pause_in_long_turn() noexcept;
  void handle(const SessionEvent& event);
  void begin(H2Exchange& exchange);
  void admit(H2Exchange& exchange);
  void keep(H2Exchange& exchange, std::string_view bytes);
  [[nodiscard]] bool can_lend(const H2Exchange& exchange, std::string_view bytes) const noexcept;
  std::size_t take_back(H2Exchange& exchange) noexcept;
  void drop(H2Exchange& exchange, std::size_t bytes);
  void close(H2Exchange& exchange);
  void release_if_done(H2Exchange& exchange);
  void observe_end(H2Exchange& exchange);
  void note_first_byte(H2Exchange& exchange);

  void count_head(H2Exchange& exchange) noexcept;
  void forget_head(const H2Exchange& exchange) noexcept;
  [[nodiscard]] bool head_exceeds_limit(const H2Exchange& exchange);
  void give_back_heads();
  void shrink_head(H2Exchange& exchange);
  void refuse(H2Exchange& exchange);

  Task<void> answer(H2Exchange& exchange);
  Task<void> produce(H2Exchange& exchange);
  void respond(H2Exchange& exchange);
  void stop_reading(H2Exchange& exchange);
  Task<Result<std::string_view>> read_body(H2Exchange& exchange);
  // Sends an interim response.
  void inform(H2Exchange& exchange, int status, std::span<const Field> fields);

  net::Transport& transport_;
  io::Engine& engine_ = transport_.engine();
  WorkerContext& context_;
  base::Pool<H2Exchange>& exchanges_;
  const ConnectionTraits traits_;
  std::unique_ptr<Session> session_;
  base::BufferChain writing_;  // the write in flight; the session appends to its own chain
  coro::Event output_wanted_;
  coro::Event writer_ended_;
  TaskGroup tasks_;
  base::Pace sending_;  // of all writes
  const std::int64_t opened_ms_;
  std::string_view lending_;  // received bytes whose events are handled; the buffer can be kept
  H2Exchange* borrower_ = nullptr;  // its handler reads content in that buffer
  io::Lease kept_;                  // the buffer, once more is received
  std::int64_t active_ms_;          // when bytes last arrived, or the last stream ended
  std::int64_t quiet_from_ms_;      // when the last stream ended
  std::int64_t checked_ms_;         // time of the last pace check
  std::int64_t block_due_ms_ = 0;   // deadline of an incomplete field block; 0: none
  std::uint32_t block_ = 0;         // Session::unfinished_block()
  std::int64_t received_us_ = 0;    // when bytes last arrived, if somebody observes
  io::Op* lag_ = nullptr;           // the wait for handlers that lag; null: none
  H2Exchange* first_ = nullptr;     // list of exchanges not yet released
  std::size_t alive_ = 0;
  std::size_t heads_bytes_ = 0;   // what the heads of all exchanges hold
  std::size_t heads_excess_ = 0;  // what counts of that towards Limits::heads_bytes_max
  std::size_t heads_due_ = 4096;  // give_back_heads() from this many on
  std::uint64_t requests_ = 0;    // begun so far
  bool receiving_ = false;        // events are being handled; one write follows
  bool paused_ = false;           // more of them are handled in the next turn
  bool writing_now_ = false;      // a write is in flight
  bool read_again_ = false;       // the read was cancelled to restart with another deadline
  bool closing_ = false;          // no more reads
  bool peer_ended_ = false;       // the peer has closed its side
  bool shed_ = false;             // closed because of too many connections
  bool idle_ = false;             // listed as idle
  bool served_in_drain_ = false;  // a stream has ended since the drain began
  bool broken_ = false;           // a write has failed
  bool offered_ = false;          // to the session, a piece of a body, since it last produced
};

}  // namespace h2server::http::h2
