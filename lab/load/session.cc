#include "load/session.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <array>

#include "base/assert.h"
#include "load/clock.h"

namespace h2server::lab::load {

namespace {

constexpr std::uint32_t readable = EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR;
constexpr std::uint32_t hang_up = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
constexpr int rounds_per_turn = 16;  // of 256 KiB; then other connections get a turn

// Input is processed at once and not kept, so all sessions share one buffer.
std::span<char> shared_room() noexcept {
  static std::array<char, 256 * 1024> room;
  return room;
}

}  // namespace

std::unique_ptr<Protocol> make_protocol(ProtocolName name, RequestPlan& plan, ProtocolUser& user,
                                        const StreamOptions& options) {
  switch (name) {
    case ProtocolName::h1:
      return make_h1(plan, user);
    case ProtocolName::h2:
      return make_h2(plan, user, options);
    case ProtocolName::spdy:
      return make_spdy(plan, user, options);
  }
  return nullptr;
}

void Session::open() {
  ASSERT(state_ == State::closed);
  now_ns_ = opening_ns_ = progress_ns_ = load::now_ns();
  state_ = State::connecting;
  failure_ = ErrorKind::none;
  ending_ = announced_ = more_to_read_ = more_to_send_ = false;
  protocol_ = make_protocol(setting_.protocol, setting_.plan, *this, setting_.streams);
  Result<void> opened = connection_.open(setting_.target, setting_.tls ? &*setting_.tls : nullptr);
  if (opened) opened = setting_.loop.add(connection_.socket(), *this);
  if (opened) return;
  // Reported in a separate turn, so that an owner that reopens the session does not recurse.
  static bool said = false;
  if (!said) fmt::print(stderr, "load: {}\n", opened.error().message());
  said = true;
  break_off(ErrorKind::connect);
  ask_for_turn();
}

std::size_t Session::room() const noexcept {
  return state_ == State::open && announced_ && !ending_ ? protocol_->room() : 0;
}

void Session::submit(const Exchange& exchange) {
  progress_ns_ = exchange.sent_ns;
  protocol_->submit(exchange, connection_.out());
  ask_for_turn();
}

void Session::close() {
  ending_ = true;
  ask_for_turn();
}

void Session::ask_for_turn() {
  if (in_turn_ || turn_is_asked_) return;
  turn_is_asked_ = true;
  setting_.loop.later(*this);
}

void Session::break_off(ErrorKind error) noexcept {
  if (failure_ == ErrorKind::none) failure_ = error;
  ending_ = true;
}

void Session::turn(std::uint32_t events) {
  if (events == 0) turn_is_asked_ = false;
  if (state_ == State::closed) return;
  in_turn_ = true;
  // Taken before reading: the bytes had arrived when epoll reported them.
  now_ns_ = load::now_ns();
  if (!ending_ && establish(events)) {
    if ((events & readable) != 0) connection_.note_arrival();
    if ((events & readable) != 0 || more_to_read_) receive((events & hang_up) != 0);
    if (!ending_) send();
  }
  in_turn_ = false;
  finish_turn();
}

// Returns true if the connection is open.
bool Session::establish(std::uint32_t events) {
  if (state_ == State::open) return true;
  if (events == 0) return false;  // requested for the previous connection
  ErrorKind failure = ErrorKind::none;
  const Step step = connection_.establish(failure);
  if (step == Step::would_block) return false;
  progress_ns_ = now_ns_;
  if (step != Step::done) {
    break_off(failure);
    return false;
  }
  const Tls* const tls = connection_.tls();
  // A server without ALPN speaks HTTP/1.1.
  if (tls != nullptr && tls->protocol() != alpn_of(setting_.protocol) &&
      (setting_.protocol != ProtocolName::h1 || !tls->protocol().empty())) {
    break_off(ErrorKind::alpn);
    return false;
  }
  state_ = State::open;
  more_to_read_ = tls != nullptr;  // the handshake may have read the first bytes
  protocol_->begin();
  return true;
}

void Session::receive(bool to_the_end) {
  more_to_read_ = false;
  for (int i = 0; i < rounds_per_turn; ++i) {
    if (!receive_once(to_the_end)) return;
    now_ns_ = load::now_ns();
  }
  more_to_read_ = true;
}

// Returns true if more may be readable now.
bool Session::receive_once(bool to_the_end) {
  const Transfer got = connection_.read(shared_room());
  switch (got.step) {
    case Step::done: {
      progress_ns_ = now_ns_;
      const ErrorKind error = protocol_->receive({shared_room().data(), got.size});
      if (error != ErrorKind::none) break_off(error);
      return error == ErrorKind::none && (to_the_end || !got.drained);
    }
    case Step::would_block:
      return false;
    case Step::ended:
      break_off(protocol_->end());
      return false;
    case Step::failed:
      break_off(ErrorKind::reset);
      return false;
  }
  return false;
}

void Session::send() {
  if (!announced_ && protocol_->ready()) {
    announced_ = true;
    owner_.opened(*this);
  }
  more_to_send_ = false;
  for (int i = 0; i < rounds_per_turn; ++i) {
    const ErrorKind error = protocol_->produce(connection_.out());
    if (error != ErrorKind::none) break_off(error);
    if (connection_.out().empty()) return;
    const std::size_t before = connection_.out().size();
    const Step step = connection_.flush();
    if (connection_.out().size() != before) progress_ns_ = now_ns_;
    // Input that the server sent before it stopped reading is still read; then comes the end.
    if (step == Step::failed) connection_.out().clear();
    if (step != Step::done) return;
    // Only a full chain can leave pending output.
    if (before < Protocol::out_bytes_max) return;
  }
  more_to_send_ = true;
}

void Session::finish_turn() {
  if (!ending_ && protocol_->over()) {
    ending_ = protocol_->under_way() == 0 && !setting_.awaits_close;
  }
  if (!ending_) {
    if (more_to_read_ || more_to_send_) ask_for_turn();
    return;
  }
  state_ = State::closed;
  exchange_failed_ = false;
  protocol_->fail(failure_ == ErrorKind::none ? ErrorKind::closed : failure_);
  close_connection();
  owner_.closed(*this, exchange_failed_ ? ErrorKind::none : failure_);
}

void Session::close_connection() noexcept {
  if (connection_.socket() < 0) return;
  setting_.tally.bytes_in += connection_.bytes_in();
  setting_.tally.bytes_out += connection_.bytes_out();
  connection_.close(setting_.resets);
}

void Session::on_outcome(const Exchange& exchange, const Outcome& outcome) {
  Outcome judged = outcome;
  const RequestSpec& expected = setting_.plan.spec();
  if (outcome.error == ErrorKind::none || outcome.error == ErrorKind::early) {
    if (outcome.status != expected.status) {
      judged.error = ErrorKind::status;
    } else if (expected.body_bytes && outcome.body_bytes_in != *expected.body_bytes) {
      judged.error = ErrorKind::length;
    }
  } else {
    exchange_failed_ = true;
  }
  owner_.ended(*this, exchange, judged);
}

void Session::check_time(std::int64_t now_ns) {
  if (state_ == State::closed || now_ns - progress_ns_ < setting_.timeout_ns) return;
  const bool waits = !announced_ || protocol_->under_way() > 0 || protocol_->over();
  if (waits) abandon(ErrorKind::timeout);
}

void Session::abandon(ErrorKind error) {
  if (state_ == State::closed) return;
  now_ns_ = load::now_ns();
  break_off(error);
  finish_turn();
}

}  // namespace h2server::lab::load
