// A connection with its protocol: connects, performs the handshakes, moves bytes and checks
// timeouts. Can be reopened after it has closed.
//
// Owned by a mode, its SessionOwner, which decides what to send. One thread. The socket changes
// only in the session's own turn (loop.h).
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

// Shared by all sessions of a run.
struct SessionSetting {
  Loop& loop;
  Target target;
  RequestPlan plan;
  std::optional<TlsContext> tls = std::nullopt;
  ProtocolName protocol = ProtocolName::h1;
  StreamOptions streams = {};
  bool awaits_close = false;  // after the last response waits for the server to close
  bool resets = false;        // closes by RST
  std::int64_t timeout_ns = 0;
  Tally& tally;  // counts the bytes on the wire
};

class SessionOwner {
 public:
  // The owner may submit. Not called if the session fails before.
  virtual void opened(Session& session) = 0;
  // An exchange has ended, with success or not. The owner may submit if there is room.
  virtual void ended(Session& session, const Exchange& exchange, const Outcome& outcome) = 0;
  // The session may be reopened. `error` is the connection's; exchanges have reported their own.
  virtual void closed(Session& session, ErrorKind error) = 0;

 protected:
  ~SessionOwner() = default;
};

class Session final : public Handler, private ProtocolUser {
 public:
  // `setting` and `owner` must outlive the session.
  Session(SessionSetting& setting, SessionOwner& owner, std::size_t index)
      : setting_(setting), owner_(owner), index_(index) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { close_connection(); }

  void open();
  // Returns how many exchanges may be submitted now.
  [[nodiscard]] std::size_t room() const noexcept;
  void submit(const Exchange& exchange);
  // Closes at the end of the current turn or in a later one.
  void close();

  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  [[nodiscard]] bool is_closed() const noexcept { return state_ == State::closed; }
  // Returns true if opened() was called since open().
  [[nodiscard]] bool has_opened() const noexcept { return announced_; }
  [[nodiscard]] std::int64_t opening_ns() const noexcept { return opening_ns_; }
  [[nodiscard]] std::int64_t now_ns() const noexcept { return now_ns_; }  // of the last turn

  // Applies the timeout. Must be called between turns.
  void check_time(std::int64_t now_ns);
  // Fails everything in flight with `error` and closes. Must be called between turns.
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
  std::int64_t progress_ns_ = 0;  // time of the last byte or request
  ErrorKind failure_ = ErrorKind::none;
  bool ending_ = false;     // this turn closes the connection
  bool announced_ = false;  // opened() was called
  bool in_turn_ = false;
  bool turn_is_asked_ = false;
  bool more_to_read_ = false;
  bool more_to_send_ = false;
  bool exchange_failed_ = false;  // so failure_ is already reported
};

}  // namespace h2server::lab::load
