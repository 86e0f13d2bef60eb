// An HTTP/2 connection (RFC 9113): moves bytes between the stream and the session, and requests
// from the session to their handlers.
//
// One coroutine reads, one writes, one more for each handler that waits. What a receive brings is
// answered in one write. Nothing of ours runs inside the session's calls: it reports events one by
// one, which are acted upon when it has returned.
#pragma once

#include <memory>
#include <string_view>

#include "base/buffer_chain.h"
#include "base/pace.h"
#include "coro/event.h"
#include "coro/task_group.h"
#include "http/h2/session.h"
#include "http/h2/transfer.h"
#include "http/service.h"
#include "net/stream.h"

namespace h2server::http::h2 {

class Connection final : private Drainable {
 public:
  // All outlive the connection.
  Connection(net::Stream& stream, Service& service, base::Pool<Transfer>& transfers,
             Implementation implementation, bool encrypted);
  ~Connection();

  // What was read before run(): it is answered in the first write, with our SETTINGS.
  void take(std::string_view bytes);
  // Until the connection is done with.
  Task<void> run();

 private:
  friend class IncomingBody;

  void drain() override;
  void shed() override;
  void name_unfinished(std::vector<std::string>& names) const override;

  Task<void> write_all();
  bool receive(std::string_view bytes);
  bool read_on_after(int error);
  void close_all();
  void want_write();
  void hurry();
  [[nodiscard]] std::uint32_t silence_ms_max() const noexcept;
  [[nodiscard]] std::uint32_t wait_ms() const noexcept;
  [[nodiscard]] bool settings_overdue() const noexcept;
  void note_block();
  void check_deadlines();
  void check_transfers(std::int64_t elapsed_ms);
  // What the client has had to do for so long.
  struct Waiting {
    std::int64_t elapsed_ms;
    bool for_content;
    bool for_window;
    bool for_connection_window;
  };
  [[nodiscard]] bool keeps_pace(Transfer& transfer, const Waiting& waiting);
  [[nodiscard]] bool has_sent() const noexcept;
  [[nodiscard]] std::size_t output_bytes_max() const noexcept;

  void handle_events();
  void handle(const SessionEvent& event);
  void begin(Transfer& transfer);
  void admit(Transfer& transfer);
  void keep(Transfer& transfer, std::string_view bytes);
  void drop(Transfer& transfer, std::size_t bytes);
  void close(Transfer& transfer);
  void release_if_done(Transfer& transfer);

  Task<void> answer(Transfer& transfer, const Handler& handler);
  Task<void> produce(Transfer& transfer);
  void respond(Transfer& transfer);
  void stop_reading(Transfer& transfer);
  Task<Result<std::string_view>> read_body(Transfer& transfer);

  net::Stream& stream_;
  Service& service_;
  base::Pool<Transfer>& transfers_;
  const bool encrypted_;
  std::unique_ptr<Session> session_;
  base::BufferChain writing_;  // what the session said meanwhile comes after more of the bodies
  coro::Event output_wanted_;
  coro::Event writer_ended_;
  coro::TaskGroup tasks_;
  base::Pace sending_;  // of all that is written
  const std::int64_t opened_ms_;
  std::int64_t active_ms_;         // when anything last arrived, or the last stream ended
  std::int64_t quiet_from_ms_;     // when the last stream ended
  std::int64_t checked_ms_;        // when the transfers' paces were looked at
  std::int64_t block_due_ms_ = 0;  // when the field block that has begun must have ended
  std::uint32_t block_ = 0;        // Session::unfinished_block()
  Transfer* first_ = nullptr;      // those that are alive
  std::size_t alive_ = 0;
  std::uint64_t requests_ = 0;  // that have begun
  bool receiving_ = false;      // events are being handled: one write will follow
  bool writing_now_ = false;    // the stream has bytes that the peer has not taken
  bool read_again_ = false;     // the read was ended to begin anew with another deadline
  bool closing_ = false;        // nothing will be read any more
  bool peer_ended_ = false;     // it has closed its side
  bool shed_ = false;           // there are too many connections
  bool idle_ = false;           // listed as such
  bool broken_ = false;         // nothing can be written any more
};

}  // namespace h2server::http::h2
