#include "io/blocking_engine.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/clock.h"
#include "base/memory/memory_budget.h"
#include "io/socket_calls.h"

namespace h2server::io {

BlockingEngine::BlockingEngine(const Interrupts& interrupts, std::function<void()> on_drain,
                               const BlockingLimits& limits)
    : limits_(limits), interrupts_(interrupts), on_drain_(std::move(on_drain)) {}

BlockingEngine::~BlockingEngine() {
  ASSERT(current_ == nullptr);
  free_spare_buffers();
}

std::int64_t BlockingEngine::now_ms() const noexcept { return base::monotonic_ms(); }
std::int64_t BlockingEngine::unix_seconds() const noexcept { return base::unix_seconds(); }

// --- operations -------------------------------------------------------------------------------

bool BlockingEngine::start(Op& op) {
  ASSERT(op.state.phase == Op::State::Phase::idle && current_ == nullptr);
  op.state.phase = Op::State::Phase::pending;
  current_ = &op;
  const bool reads = op.kind == Op::Kind::receive;
  if (reads) op.socket->state.reader = &op;  // lets TcpTransport::cancel_read() find it
  op.state.result = cancelling_ ? -ECANCELED : perform(op);
  if (reads) op.socket->state.reader = nullptr;
  current_ = nullptr;
  op.state.phase = Op::State::Phase::complete;
  return true;
}

void BlockingEngine::cancel(Op& op) {
  if (&op == current_) op.state.ending = -ECANCELED;
}

int BlockingEngine::perform(Op& op) {
  const std::int64_t due_ms = op.timeout_ms == 0 ? never : now_ms() + op.timeout_ms;
  switch (op.kind) {
    case Op::Kind::file:
      return static_cast<FileOp&>(op).call.make(true);
    case Op::Kind::sleep: {
      if (op.timeout_ms == 0) return 0;  // there are no others
      const int ended = wait(op, -1, 0, due_ms);
      return ended == -ETIMEDOUT ? 0 : ended;
    }
    case Op::Kind::receive:
    case Op::Kind::send: {
      const short events = op.kind == Op::Kind::send ? POLLOUT : POLLIN;
      int result;
      while ((result = attempt(op)) == -EAGAIN) {
        const int ended = wait(op, op.socket->fd(), events, due_ms);
        if (ended != 0) return ended;
        if (events == POLLIN) op.socket->state.readable = true;
      }
      if (now_ms() >= look_due_ms_) poll(-1, 0, 0);
      return result;
    }
    case Op::Kind::accept:
    case Op::Kind::woken:
      break;
  }
  ASSERT(!"an operation that a blocking engine does not have");
  return -EOPNOTSUPP;
}

// Returns a count or a negative errno value; -EAGAIN if the operation has to wait. Sockets may be
// blocking or non-blocking.
int BlockingEngine::attempt(Op& op) {
  if (op.kind == Op::Kind::receive) return attempt_receive(static_cast<ReceiveOp&>(op));
  return send_now(static_cast<SendOp&>(op));
}

// A receive that did not fill its buffer emptied the socket, so the next one waits first.
int BlockingEngine::attempt_receive(ReceiveOp& op) {
  Socket::State& state = op.socket->state;
  if (!state.readable) return -EAGAIN;
  const int result = receive_now(*this, op);
  if (result > 0) state.readable = static_cast<std::size_t>(result) == op.lease.room().size();
  return result;
}

// --- waiting ----------------------------------------------------------------------------------

// Waits until `fd` is ready and returns 0, or returns the reason to stop, a negative errno value.
int BlockingEngine::wait(const Op& op, int fd, short events, std::int64_t due_ms) {
  for (;;) {
    const std::int64_t now = now_ms();
    if (now >= cancel_due_ms_) cancelling_ = true;
    if (cancelling_) return -ECANCELED;
    if (op.state.ending != 0) return op.state.ending;
    if (now >= due_ms) return -ETIMEDOUT;
    if (poll(fd, events, std::min(due_ms, cancel_due_ms_) - now)) return 0;
  }
}

// Polls for at most `ms`. Returns true if `fd` is ready. Handles requests to drain or cancel.
bool BlockingEngine::poll(int fd, short events, std::int64_t ms) {
  std::array<pollfd, 3> watched{{{.fd = fd, .events = events, .revents = 0},
                                 {.fd = interrupts_.drain, .events = POLLIN, .revents = 0},
                                 {.fd = interrupts_.cancel, .events = POLLIN, .revents = 0}}};
  constexpr std::int64_t ms_max = std::numeric_limits<int>::max();
  const int count = ::poll(watched.data(), watched.size(), ms > ms_max ? -1 : static_cast<int>(ms));
  // EINTR and ENOMEM: the caller polls again. The others (EFAULT, EINVAL) would be our bugs.
  ASSERT(count >= 0 || errno == EINTR || errno == ENOMEM);
  look_due_ms_ = now_ms() + limits_.look_ms;
  if (count <= 0) return false;
  if (watched[2].revents != 0) cancelling_ = true;
  if (watched[1].revents != 0) {
    interrupts_.drain = -1;
    on_drain_();
  }
  return watched[0].revents != 0;
}

// --- buffers ----------------------------------------------------------------------------------

Lease BlockingEngine::borrow() {
  if (buffers_.empty()) {
    if (++buffers_alive_ > limits_.buffers_kept_max) {
      base::MemoryBudget::of_process().charge(base::MemoryOwner::receiving, limits_.buffer_bytes);
    }
    auto fresh = std::make_unique_for_overwrite<char[]>(limits_.buffer_bytes);
    return {*this, fresh.release(), limits_.buffer_bytes};
  }
  char* const buffer = buffers_.back().release();
  buffers_.pop_back();
  return {*this, buffer, limits_.buffer_bytes};
}

void BlockingEngine::take_back(char* buffer) noexcept {
  std::unique_ptr<char[]> owned(buffer);
  if (buffers_.size() < limits_.buffers_kept_max) buffers_.push_back(std::move(owned));
  else free_buffer(std::move(owned));
}

void BlockingEngine::free_buffer(std::unique_ptr<char[]> buffer) noexcept {
  buffer.reset();
  if (buffers_alive_-- > limits_.buffers_kept_max) {
    base::MemoryBudget::of_process().discharge(base::MemoryOwner::receiving, limits_.buffer_bytes);
  }
}

void BlockingEngine::free_spare_buffers() noexcept {
  for (std::unique_ptr<char[]>& buffer : buffers_) free_buffer(std::move(buffer));
  buffers_.clear();
}

}  // namespace h2server::io
