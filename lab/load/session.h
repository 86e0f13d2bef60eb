// A connection with its protocol: connects, shakes hands, hands bytes both ways, watches the time.
// Can be opened again when it has closed.
//
// It belongs to a mode, which is its SessionOwner and says what to send. One thread. Its socket
// changes in its own turn only (loop.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "load/connection.h"
#include "load/loop.h"
#include "load/protocol.h"
#include "load/tally.h"

namespace h2server::lab::load {

class Session;

// What all sessions of a run share.
struct SessionSetting {
  Loop& loop;
  Target target;
  RequestPlan plan;
  std::optional<TlsContext> tls = std::nullopt;
  std::optional<Http2Options> http2 = std::nullopt;
  bool awaits_close = false;  // after a last response: the server closes first
  bool resets = false;        // closes by RST
  std::int64_t timeout_ns = 0;
  Tally& tally;  // bytes on the wire are counted there
};

class SessionOwner {
 public:
  // It may submit. Not called for a session that fails before.
  virtual void opened(Session& session) = 0;
  // An exchange has ended, well or not. It may submit the next one where there is room.
  virtual void ended(Session& session, const Exchange& exchange, const Outcome& outcome) = 0;
  // It may be opened again. `error` is the connection's own: those of exchanges have been told.
  virtual void closed(Session& session, ErrorKind error) = 0;

 protected:
  ~SessionOwner() = default;
};

class Session final : public Handler, private ProtocolUser {
 public:
  // `setting` and `owner` outlive it.
  Session(SessionSetting& setting, SessionOwner& owner, std::size_t index)
      : setting_(setting), owner_(owner), index_(index) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { close_connection(); }

  void open();
  // How many exchanges may be submitted now.
  [[nodiscard]] std::size_t room() const noexcept;
  void submit(const Exchange& exchange);
  // Closes at the end of the turn, or in one that comes soon.
  void close();

  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  [[nodiscard]] bool is_closed() const noexcept { return state_ == State::closed; }
  // Whether opened() was called since open().
  [[nodiscard]] bool has_opened() const noexcept { return announced_; }
  [[nodiscard]] std::int64_t opening_ns() const noexcept { return opening_ns_; }
  [[nodiscard]] std::int64_t now_ns() const noexcept { return now_ns_; }  // of the last turn

  // Between turns: gives up what has waited for too long.
  void check_time(std::int64_t now_ns);
  // Between turns: counts all that is under way as that error, and closes.
  void abandon(ErrorKind error);

  void turn(std::uint32_t events) override;

 private:
  enum class State : std::uint8_t { closed, connecting, open };

  void on_outcome(const Exchange& exchange, const Outcome& outcome) override;
  [[nodiscard]] bool establish(std::uint32_t events);
  void receive(bool to_the_end);
  [[nodiscard]] bool receive_once(bool to_the_end);
  void send();
  void finish_turn();
  void break_off(ErrorKind error) noexcept;
  void close_connection() noexcept;
  void ask_for_turn();

  SessionSetting& setting_;
  SessionOwner& owner_;
  const std::size_t index_;
  State state_ = State::closed;
  Connection connection_;
  std::unique_ptr<Protocol> protocol_;
  std::int64_t now_ns_ = 0;
  std::int64_t opening_ns_ = 0;
  std::int64_t progress_ns_ = 0;  // the last byte, or the last request
  ErrorKind failure_ = ErrorKind::none;
  bool ending_ = false;     // this turn closes the connection
  bool announced_ = false;  // the owner knows that it is open
  bool in_turn_ = false;
  bool turn_is_asked_ = false;
  bool more_to_read_ = false;
  bool more_to_send_ = false;
  bool exchange_failed_ = false;  // and so has told of failure_
};

}  // namespace h2server::lab::load
