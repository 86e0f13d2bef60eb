#include "io/epoll_engine.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/clock.h"
#include "io/socket_calls.h"

namespace h2server::io {

namespace {

constexpr std::uint64_t event_key = ~std::uint64_t{0};  // key of the eventfd

std::uint64_t key_of(int fd, std::uint32_t generation) {
  return std::uint64_t{generation} << 32 | static_cast<std::uint32_t>(fd);
}

// A listener that was given or inherited may be in another mode.
void make_nonblocking(int listener) noexcept {
  ::fcntl(listener, F_SETFL, ::fcntl(listener, F_GETFL) | O_NONBLOCK);
}

}  // namespace

Result<std::unique_ptr<EpollEngine>> EpollEngine::open(const EpollLimits& limits) {
  base::Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return std::unexpected(Error{errno, "epoll_create1"});
  base::Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) return std::unexpected(Error{errno, "eventfd"});
  epoll_event interest{.events = EPOLLIN | EPOLLET, .data = {.u64 = event_key}};
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, event.get(), &interest) != 0) {
    return std::unexpected(Error{errno, "epoll_ctl"});
  }
  return std::unique_ptr<EpollEngine>(new EpollEngine(limits, std::move(epoll), std::move(event)));
}

EpollEngine::EpollEngine(const EpollLimits& limits, base::Fd epoll, base::Fd event)
    : LoopEngine(std::move(event), {.bytes = limits.buffer_bytes,
                                    .kept_max = limits.buffers_kept_max,
                                    .reserved = limits.buffers_kept_max}),
      inline_operations_max_(limits.inline_operations_max),
      epoll_(std::move(epoll)) {}

EpollEngine::~EpollEngine() {
  drop_locals();
  for (const Slot& slot : slots_) ASSERT(slot.socket == nullptr);
}

// --- starting ---------------------------------------------------------------------------------

bool EpollEngine::begin(Op& op) {
  if (op.kind == Op::Kind::file) {
    begin_on_thread(static_cast<FileOp&>(op));
    return false;
  }
  const bool first = op.kind == Op::Kind::accept && !op.socket->state.watched;
  if (first) make_nonblocking(op.socket->fd());
  const bool may_try = spend_inline(*op.socket);
  if (may_try && attempt(op)) return true;
  if (const int error = watch(*op.socket, op.kind == Op::Kind::send)) {
    op.state.result = -error;
    return true;
  }
  if (!may_try) enqueue(op);
  return false;
}

bool EpollEngine::retry(Op& op) {
  spend_inline(*op.socket);
  return attempt(op);
}

void EpollEngine::interrupt(Op&) { ASSERT(!"the kernel has no operation of ours"); }

// Returns true if this socket may try one more operation at once in this turn.
bool EpollEngine::spend_inline(Socket& socket) noexcept {
  Socket::State& state = socket.state;
  if (state.turn != turn_) {
    state.turn = turn_;
    state.inline_left = inline_operations_max_;
  }
  if (state.inline_left == 0) return false;
  --state.inline_left;
  return true;
}

// Returns 0 or an errno value.
int EpollEngine::watch(Socket& socket, bool output) {
  if (output ? socket.state.watched_for_output : socket.state.watched) return 0;
  const auto index = static_cast<std::size_t>(socket.fd());
  if (slots_.size() <= index) slots_.resize(std::max(index + 1, slots_.size() * 2));
  Slot& slot = slots_[index];
  const bool first = slot.socket == nullptr;
  ASSERT(first || slot.socket == &socket);
  const std::uint32_t generation = slot.generation + (first ? 1 : 0);
  const std::uint32_t out = output || socket.state.watched_for_output ? EPOLLOUT : 0U;
  epoll_event interest{.events = EPOLLIN | EPOLLRDHUP | EPOLLET | out,
                       .data = {.u64 = key_of(socket.fd(), generation)}};
  const int operation = first ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (::epoll_ctl(epoll_.get(), operation, socket.fd(), &interest) != 0) {
    // ENOMEM or ENOSPC (max_user_watches) is a system limit and ends the connection. A listener
    // retries, so the socket must not be marked as watched. The others (EBADF, EEXIST, ENOENT,
    // EPERM, EINVAL, ELOOP) would be our bugs.
    const int error = errno;
    ASSERT(error == ENOMEM || error == ENOSPC);
    return error;
  }
  slot = {&socket, generation};
  socket.state.watched = true;
  socket.state.watched_for_output |= output;
  return 0;
}

// --- trying -----------------------------------------------------------------------------------

// Returns true if the operation completed and its result is set.
bool EpollEngine::attempt(Op& op) {
  switch (op.kind) {
    case Op::Kind::accept:
      return attempt_accept(op);
    case Op::Kind::receive:
      return attempt_receive(static_cast<ReceiveOp&>(op));
    case Op::Kind::send:
      return attempt_send(static_cast<SendOp&>(op));
    case Op::Kind::sleep:
    case Op::Kind::woken:
    case Op::Kind::file:
      return false;
  }
  return false;
}

bool EpollEngine::attempt_accept(Op& op) {
  Socket& listener = *op.socket;
  while (listener.state.readable) {
    op.state.result = ::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC);
    if (op.state.result >= 0) return true;
    if (errno == EAGAIN) {
      listener.state.readable = false;
    } else if (!concerns_one_connection(errno)) {
      // EMFILE, ENFILE, ENOBUFS, ENOMEM: the listener stays readable; the caller waits.
      op.state.result = -errno;
      return true;
    }
  }
  return false;
}

bool EpollEngine::attempt_receive(ReceiveOp& op) {
  Socket& socket = *op.socket;
  if (!socket.state.readable) return false;
  const int result = receive_now(*this, op);
  if (result == -EAGAIN) {
    socket.state.readable = false;
    return false;
  }
  const bool emptied = result > 0 && static_cast<std::size_t>(result) < buffer_bytes();
  if (emptied && !socket.state.ended) socket.state.readable = false;
  op.state.result = result;
  return true;
}

bool EpollEngine::attempt_send(SendOp& op) {
  op.state.result = send_now(op);
  return op.state.result != -EAGAIN;
}

// --- the loop ---------------------------------------------------------------------------------

void EpollEngine::forget(Socket& socket) noexcept {
  disarm(socket);
  if (!socket.state.watched) return;
  // Closing the descriptor removes it from the epoll set, unless the socket has others (a shared
  // listener). Stale events fail the generation check.
  slots_[static_cast<std::size_t>(socket.fd())].socket = nullptr;
}

void EpollEngine::wait(int ms) {
  std::array<epoll_event, 256> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), ms);
  ASSERT(count >= 0 || errno == EINTR);
  const bool asked = awake();
  read_clocks();
  ++turn_;
  if (asked) woken();
  for (int i = 0; i < count; ++i) dispatch(events[static_cast<std::size_t>(i)]);
}

void EpollEngine::dispatch(const epoll_event& event) {
  if (event.data.u64 == event_key) return;  // edge-triggered; wait() handles it
  const auto index = static_cast<std::size_t>(event.data.u64 & 0xffffffffU);
  const auto generation = static_cast<std::uint32_t>(event.data.u64 >> 32);
  const auto live = [&] {
    return slots_[index].generation == generation ? slots_[index].socket : nullptr;
  };
  Socket* socket = live();
  if (socket == nullptr) return;
  if (event.events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) socket->state.readable = true;
  if (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) socket->state.ended = true;
  if (Op* const reader = socket->state.reader; reader != nullptr && !reader->state.queued) {
    if (!spend_inline(*socket)) {
      enqueue(*reader);  // the edge is consumed, so run_queued() must retry
    } else if (attempt(*reader)) {
      resume(*reader, reader->state.result);
    }
    socket = live();
    if (socket == nullptr) return;
  }
  if (!(event.events & (EPOLLOUT | EPOLLHUP | EPOLLERR))) return;
  if (Op* const writer = socket->state.writer; writer != nullptr && !writer->state.queued) {
    if (attempt(*writer)) resume(*writer, writer->state.result);
  }
}

}  // namespace h2server::io
