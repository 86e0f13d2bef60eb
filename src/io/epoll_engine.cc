#include "io/epoll_engine.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/clock.h"

namespace h2server::io {

namespace {

constexpr std::uint64_t event_key = ~std::uint64_t{0};  // of the eventfd

thread_local Engine* current_engine = nullptr;

std::uint64_t key_of(int fd, std::uint32_t generation) {
  return std::uint64_t{generation} << 32 | static_cast<std::uint32_t>(fd);
}

// accept(2): errors of the connection that was to be accepted, not of the listener.
bool concerns_one_connection(int error) {
  switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case EPERM:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
    case ETIMEDOUT:
      return true;
    default:
      return false;
  }
}

}  // namespace

Engine* Engine::current() noexcept { return current_engine; }

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
    : limits_(limits),
      epoll_(std::move(epoll)),
      event_(std::move(event)),
      now_ms_(base::monotonic_ms()),
      unix_seconds_(base::unix_seconds()),
      timers_(now_ms_) {
  ASSERT(current_engine == nullptr);
  current_engine = this;
}

EpollEngine::~EpollEngine() {
  if (current_engine == this) current_engine = nullptr;  // it may outlive its thread
  ASSERT(sleepers_ == nullptr && woken_ == nullptr && queued_.empty());
  for (const Slot& slot : slots_) ASSERT(slot.socket == nullptr);
}

// --- starting ---------------------------------------------------------------------------------

bool EpollEngine::start(Op& op) {
  ASSERT(op.state_ == Op::State::idle);
  if (cancelling_) return finish_at_once(op, -ECANCELED);
  switch (op.kind_) {
    case Op::Kind::accept:
    case Op::Kind::receive:
    case Op::Kind::send: {
      if (!spend_inline(*op.socket_)) {
        if (suspend(op)) return true;
        enqueue(op);
        return false;
      }
      if (attempt(op)) {
        op.state_ = Op::State::complete;
        return true;
      }
      return suspend(op);
    }
    case Op::Kind::sleep:
    case Op::Kind::woken:
      return suspend(op);
  }
  return false;
}

// Whether this socket may do one more thing before the others get their turn.
bool EpollEngine::spend_inline(Socket& socket) noexcept {
  if (socket.turn_ != turn_) {
    socket.turn_ = turn_;
    socket.inline_left_ = limits_.inline_operations_max;
  }
  if (socket.inline_left_ == 0) return false;
  --socket.inline_left_;
  return true;
}

bool EpollEngine::finish_at_once(Op& op, int result) noexcept {
  op.result_ = result;
  op.state_ = Op::State::complete;
  return true;
}

// Makes the operation wait; true when it can't and has failed instead.
bool EpollEngine::suspend(Op& op) {
  if (op.kind_ == Op::Kind::woken) {
    if (std::exchange(was_woken_, false)) return finish_at_once(op, 0);
    ASSERT(woken_ == nullptr);
    woken_ = static_cast<WokenOp*>(&op);
  } else if (op.kind_ == Op::Kind::sleep) {
    SleepOp& sleep = static_cast<SleepOp&>(op);
    sleep.next_ = sleepers_;
    if (sleepers_ != nullptr) sleepers_->previous_ = &sleep;
    sleepers_ = &sleep;
  } else {
    Socket& socket = *op.socket_;
    const bool writes = op.kind_ == Op::Kind::send;
    if (const int error = watch(socket, writes)) return finish_at_once(op, -error);
    Op*& place = writes ? socket.writer_ : socket.reader_;
    ASSERT(place == nullptr);
    place = &op;
  }
  op.state_ = Op::State::pending;
  arm(op);
  return false;
}

// An errno value, or 0.
int EpollEngine::watch(Socket& socket, bool output) {
  if (output ? socket.watched_for_output_ : socket.watched_) return 0;
  const auto index = static_cast<std::size_t>(socket.fd());
  if (slots_.size() <= index) slots_.resize(std::max(index + 1, slots_.size() * 2));
  Slot& slot = slots_[index];
  const bool first = slot.socket == nullptr;
  if (first) slot = {&socket, slot.generation + 1};
  ASSERT(slot.socket == &socket);
  socket.watched_ = true;
  socket.watched_for_output_ |= output;
  const std::uint32_t out = socket.watched_for_output_ ? EPOLLOUT : 0U;
  epoll_event interest{.events = EPOLLIN | EPOLLRDHUP | EPOLLET | out,
                       .data = {.u64 = key_of(socket.fd(), slot.generation)}};
  if (::epoll_ctl(epoll_.get(), first ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket.fd(), &interest) == 0)
    return 0;
  // ENOMEM or ENOSPC (max_user_watches): the system's fault, this connection's end. The others
  // (EBADF, EEXIST, ENOENT, EPERM, EINVAL, ELOOP) would be ours.
  const int error = errno;
  ASSERT(error == ENOMEM || error == ENOSPC);
  return error;
}

// --- trying -----------------------------------------------------------------------------------

// True when the operation completed; its result is set then.
bool EpollEngine::attempt(Op& op) {
  switch (op.kind_) {
    case Op::Kind::accept:
      return attempt_accept(op);
    case Op::Kind::receive:
      return attempt_receive(static_cast<ReceiveOp&>(op));
    case Op::Kind::send:
      return attempt_send(static_cast<SendOp&>(op));
    case Op::Kind::sleep:
    case Op::Kind::woken:
      return false;
  }
  return false;
}

bool EpollEngine::attempt_accept(Op& op) {
  Socket& listener = *op.socket_;
  while (listener.readable_) {
    op.result_ = ::accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (op.result_ >= 0) return true;
    if (errno == EAGAIN) {
      listener.readable_ = false;
    } else if (!concerns_one_connection(errno)) {
      op.result_ = -errno;  // EMFILE, ENFILE, ENOBUFS, ENOMEM: still readable, the caller waits
      return true;
    }
  }
  return false;
}

bool EpollEngine::attempt_receive(ReceiveOp& op) {
  Socket& socket = *op.socket_;
  if (!socket.readable_) return false;
  op.lease_ = borrow();
  const std::span<char> room = op.lease_.room();
  ssize_t count;
  do {
    count = ::recv(socket.fd(), room.data(), room.size(), 0);
  } while (count < 0 && errno == EINTR);
  if (count > 0) {
    op.lease_.set_size(static_cast<std::size_t>(count));
    op.result_ = static_cast<int>(count);
    if (static_cast<std::size_t>(count) < room.size() && !socket.ended_) socket.readable_ = false;
    return true;
  }
  op.lease_.end();
  if (count == 0) {
    op.result_ = 0;
    return true;
  }
  if (errno == EAGAIN) {
    socket.readable_ = false;
    return false;
  }
  op.result_ = -errno;  // ECONNRESET, ETIMEDOUT, EHOSTUNREACH...: the connection is gone
  return true;
}

bool EpollEngine::attempt_send(SendOp& op) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(op.pieces_.data());
  message.msg_iovlen = op.pieces_.size();
  ssize_t count;
  do {
    count = ::sendmsg(op.socket_->fd(), &message, MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && errno == EAGAIN) return false;
  // EPIPE and ECONNRESET: the peer left. EFAULT: a mapped file shrank under the bytes.
  op.result_ = count < 0 ? -errno : static_cast<int>(count);
  return true;
}

// --- completing -------------------------------------------------------------------------------

void EpollEngine::detach(Op& op) noexcept {
  switch (op.kind_) {
    case Op::Kind::accept:
    case Op::Kind::receive:
      op.socket_->reader_ = nullptr;
      break;
    case Op::Kind::send:
      op.socket_->writer_ = nullptr;
      break;
    case Op::Kind::sleep: {
      SleepOp& sleep = static_cast<SleepOp&>(op);
      timers_.disarm(sleep.timer_);
      (sleep.previous_ != nullptr ? sleep.previous_->next_ : sleepers_) = sleep.next_;
      if (sleep.next_ != nullptr) sleep.next_->previous_ = sleep.previous_;
      break;
    }
    case Op::Kind::woken:
      woken_ = nullptr;
      break;
  }
}

void EpollEngine::resume(Op& op, int result) {
  ASSERT(op.state_ == Op::State::pending && !op.queued_);
  detach(op);
  op.result_ = result;
  op.state_ = Op::State::complete;
  op.waiter_.resume();
}

void EpollEngine::enqueue(Op& op) {
  if (op.queued_) return;
  op.queued_ = true;
  queued_.push_back(&op);
}

void EpollEngine::cancel(Op& op) {
  if (op.state_ != Op::State::pending) return;
  op.cancelled_ = true;
  enqueue(op);
}

void EpollEngine::cancel_all() {
  cancelling_ = true;
  for (const Slot& slot : slots_) {
    if (slot.socket == nullptr) continue;
    if (slot.socket->reader_ != nullptr) cancel(*slot.socket->reader_);
    if (slot.socket->writer_ != nullptr) cancel(*slot.socket->writer_);
  }
  for (SleepOp* sleep = sleepers_; sleep != nullptr; sleep = sleep->next_) cancel(*sleep);
  if (woken_ != nullptr) cancel(*woken_);
}

void EpollEngine::run_queued() {
  running_queue_.swap(queued_);
  for (Op* const op : running_queue_) {
    op->queued_ = false;
    if (op->cancelled_) {
      resume(*op, -ECANCELED);
    } else {
      spend_inline(*op->socket_);
      if (attempt(*op)) resume(*op, op->result_);
    }
  }
  running_queue_.clear();
}

// --- deadlines --------------------------------------------------------------------------------

void EpollEngine::arm(Op& op) {
  if (op.timeout_ms_ == 0) return;
  op.due_ms_ = now_ms_ + op.timeout_ms_;
  if (op.kind_ == Op::Kind::sleep) {
    SleepOp& sleep = static_cast<SleepOp&>(op);
    sleep.timer_.owner = &sleep;
    sleep.timer_.fire = [](base::Timer& timer) {
      SleepOp& owner = *static_cast<SleepOp*>(timer.owner);
      if (!owner.queued_) static_cast<EpollEngine&>(owner.engine_).resume(owner, 0);
    };
    timers_.arm(sleep.timer_, op.due_ms_);
    return;
  }
  Socket& socket = *op.socket_;
  socket.timer_.owner = &socket;
  socket.timer_.fire = [](base::Timer& timer) {
    Socket& owner = *static_cast<Socket*>(timer.owner);
    static_cast<EpollEngine&>(owner.engine_).expire(owner);
  };
  timers_.arm(socket.timer_, op.due_ms_);
}

// The socket's timer fired: whose deadline was it, if anybody's?
void EpollEngine::expire(Socket& socket) {
  const std::uint32_t generation = slots_[static_cast<std::size_t>(socket.fd())].generation;
  const auto index = static_cast<std::size_t>(socket.fd());
  const auto overdue = [this](const Op* op) {
    return op != nullptr && op->due_ms_ != 0 && op->due_ms_ <= now_ms_ && !op->queued_;
  };
  for (Op* const op : {socket.reader_, socket.writer_}) {
    if (op != nullptr && op->due_ms_ != 0 && !overdue(op)) timers_.arm(socket.timer_, op->due_ms_);
  }
  Op* const reader = overdue(socket.reader_) ? socket.reader_ : nullptr;
  if (reader != nullptr) resume(*reader, -ETIMEDOUT);
  // Whoever was resumed may have ended the socket.
  if (slots_[index].generation != generation || slots_[index].socket != &socket) return;
  if (overdue(socket.writer_)) resume(*socket.writer_, -ETIMEDOUT);
}

void EpollEngine::forget(Socket& socket) noexcept {
  timers_.disarm(socket.timer_);
  if (!socket.watched_) return;
  // Closing the descriptor takes it out of the epoll set; stale events fail the generation test.
  slots_[static_cast<std::size_t>(socket.fd())].socket = nullptr;
}

// --- the loop ---------------------------------------------------------------------------------

void EpollEngine::run() {
  stopping_ = false;
  read_clocks();
  while (!stopping_) turn();
}

void EpollEngine::read_clocks() noexcept {
  now_ms_ = base::monotonic_ms();
  unix_seconds_ = base::unix_seconds();
}

void EpollEngine::turn() {
  std::array<epoll_event, 256> events;
  const int wait_ms = queued_.empty() ? timers_.wait_ms(now_ms_) : 0;
  const int count =
      ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms);
  ASSERT(count >= 0 || errno == EINTR);
  read_clocks();
  ++turn_;
  for (int i = 0; i < count; ++i) dispatch(events[static_cast<std::size_t>(i)]);
  run_queued();
  timers_.advance(now_ms_);
}

void EpollEngine::dispatch(const epoll_event& event) {
  if (event.data.u64 == event_key) {
    // Edge-triggered and never read: each write is an edge of its own. Cleared before the waiter
    // looks at what it was woken for, so that no wake is lost; by an exchange, since a store would
    // not see what was written before a wake() that found the flag set.
    wake_asked_.exchange(false, std::memory_order_seq_cst);
    was_woken_ = true;
    if (woken_ != nullptr && !woken_->queued_) {
      was_woken_ = false;
      resume(*woken_, 0);
    }
    return;
  }
  const auto index = static_cast<std::size_t>(event.data.u64 & 0xffffffffU);
  const auto generation = static_cast<std::uint32_t>(event.data.u64 >> 32);
  const auto live = [&] {
    return slots_[index].generation == generation ? slots_[index].socket : nullptr;
  };
  Socket* socket = live();
  if (socket == nullptr) return;
  if (event.events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) socket->readable_ = true;
  if (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) socket->ended_ = true;
  if (Op* const reader = socket->reader_; reader != nullptr && !reader->queued_) {
    if (!spend_inline(*socket)) {
      enqueue(*reader);  // the edge is spent: the next turn has to try again
    } else if (attempt(*reader)) {
      resume(*reader, reader->result_);
    }
    socket = live();
    if (socket == nullptr) return;
  }
  if (!(event.events & (EPOLLOUT | EPOLLHUP | EPOLLERR))) return;
  if (Op* const writer = socket->writer_; writer != nullptr && !writer->queued_) {
    if (attempt(*writer)) resume(*writer, writer->result_);
  }
}

void EpollEngine::wake() noexcept {
  // One write wakes for all that was handed over until the engine looks.
  if (wake_asked_.exchange(true, std::memory_order_seq_cst)) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
}

// --- buffers ----------------------------------------------------------------------------------

Lease EpollEngine::borrow() {
  if (buffers_.empty()) {
    auto fresh = std::make_unique_for_overwrite<char[]>(limits_.buffer_bytes);
    return Lease(*this, fresh.release(), limits_.buffer_bytes);
  }
  char* const buffer = buffers_.back().release();
  buffers_.pop_back();
  return Lease(*this, buffer, limits_.buffer_bytes);
}

void EpollEngine::take_back(char* buffer) noexcept {
  std::unique_ptr<char[]> owned(buffer);
  if (buffers_.size() < limits_.buffers_kept_max) buffers_.push_back(std::move(owned));
}

}  // namespace h2server::io
