#include "io/loop_engine.h"

#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/memory/freed_memory.h"

namespace h2server::io {

namespace {

thread_local Engine* current_engine = nullptr;

// Returns true if `op` must run on a thread, because no engine has an operation for it.
bool runs(const Op& op) noexcept {
  return op.kind == Op::Kind::file &&
         static_cast<const FileOp&>(op).call.action == FileCall::Action::run;
}

}  // namespace

Engine* Engine::current() noexcept { return current_engine; }
void Engine::set_current(Engine* engine) noexcept { current_engine = engine; }

bool concerns_one_connection(int error) noexcept {
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

LoopEngine::LoopEngine(base::Fd event, const BufferLimits& buffers)
    : event_(std::move(event)),
      buffer_bytes_(buffers.bytes),
      buffers_kept_max_(buffers.kept_max),
      buffers_reserved_(buffers.reserved),
      now_ms_(base::monotonic_ms()),
      unix_seconds_(base::unix_seconds()),
      timers_(now_ms_) {}

LoopEngine::~LoopEngine() {
  ASSERT(pending_ == nullptr && queued_.empty());
  free_spare_buffers();
}

// --- starting and completing ------------------------------------------------------------------

bool LoopEngine::start(Op& op) {
  ASSERT(op.state.phase == Op::State::Phase::idle);
  bool complete = cancelling_ && !op.outlasts_cancel_all;
  if (complete) {
    op.state.result = -ECANCELED;
  } else if (op.kind == Op::Kind::woken) {
    complete = std::exchange(was_woken_, false);
    ASSERT(woken_ == nullptr);
    if (!complete) woken_ = static_cast<WokenOp*>(&op);
  } else if (op.kind == Op::Kind::file) {
    op.state.result = static_cast<FileOp&>(op).call.make(false);
    complete = op.state.result != -EAGAIN;
    if (!complete && runs(op)) begin_on_thread(static_cast<FileOp&>(op));
    else if (!complete) complete = begin(op);
  } else if (op.kind != Op::Kind::sleep) {
    complete = begin(op);
  }
  if (complete) {
    op.state.phase = Op::State::Phase::complete;
  } else {
    suspend(op);
  }
  return complete;
}

void LoopEngine::suspend(Op& op) {
  if (op.socket != nullptr) {
    Op*& place = op.kind == Op::Kind::send ? op.socket->state.writer : op.socket->state.reader;
    ASSERT(place == nullptr);
    place = &op;
  }
  op.state.phase = Op::State::Phase::pending;
  op.state.next = pending_;
  if (pending_ != nullptr) pending_->state.previous = &op;
  pending_ = &op;
  arm(op);
}

void LoopEngine::detach(Op& op) noexcept {
  Op::State& state = op.state;
  (state.previous != nullptr ? state.previous->state.next : pending_) = state.next;
  if (state.next != nullptr) state.next->state.previous = state.previous;
  switch (op.kind) {
    case Op::Kind::accept:
    case Op::Kind::receive:
      op.socket->state.reader = nullptr;
      break;
    case Op::Kind::send:
      op.socket->state.writer = nullptr;
      break;
    case Op::Kind::sleep:
      timers_.disarm(static_cast<SleepOp&>(op).timer);
      break;
    case Op::Kind::woken:
      woken_ = nullptr;
      break;
    case Op::Kind::file:
      break;
  }
}

void LoopEngine::resume(Op& op, int result) {
  ASSERT(op.pending() && !op.state.queued && !op.state.in_kernel);
  detach(op);
  op.state.result = result;
  op.state.phase = Op::State::Phase::complete;
  op.state.waiter.resume();
}

// Called when the kernel or a file thread no longer uses the operation's memory.
void LoopEngine::complete(Op& op, int result) {
  op.state.in_kernel = op.state.on_thread = false;
  if (result == -ECANCELED && op.state.ending != 0) result = op.state.ending;
  op.state.finished = op.state.queued;
  op.state.result = result;
  if (!op.state.queued) resume(op, result);
}

void LoopEngine::begin_on_thread(FileOp& op) {
  op.state.in_kernel = op.state.on_thread = true;
  ++files_out_;
  threads_for(op).start(op);
}

FileThreads& LoopEngine::threads_for(const FileOp& op) noexcept {
  if (!runs(op) || op.call.reads) return file_threads_;
  if (op.call.slow_file_system) return slow_threads_;
  return op.call.takes_long ? long_threads_ : call_threads_;
}

// Completes the operations that the threads have finished.
void LoopEngine::finish_files() {
  if (files_out_ == 0) return;
  for (FileThreads* const threads : all_threads()) {
    for (FileOp* const op : threads->take_finished()) {
      --files_out_;
      complete(*op, op->state.result);
    }
  }
}

// A call that a thread has begun can't be cancelled; it completes when the thread is done.
void LoopEngine::withdraw(FileOp& op) {
  if (!threads_for(op).withdraw(op)) return;
  --files_out_;
  complete(op, -ECANCELED);
}

// Returns how long to wait for the kernel if nothing is queued. Short if threads must be retried.
int LoopEngine::wait_ms() noexcept {
  constexpr int thread_pause_ms = 10;
  const int ms = timers_.wait_ms(now_ms_);
  const bool lacks_threads =
      files_out_ > 0 && std::ranges::any_of(all_threads(), &FileThreads::lacks_threads);
  return lacks_threads && (ms < 0 || ms > thread_pause_ms) ? thread_pause_ms : ms;
}

void LoopEngine::enqueue(Op& op) {
  if (op.state.queued) return;
  op.state.queued = true;
  queued_.push_back(&op);
}

void LoopEngine::run_queued() {
  running_queue_.swap(queued_);
  for (Op* const op : running_queue_) {
    op->state.queued = false;
    if (op->state.finished) {  // completed before it could be ended early
      resume(*op, op->state.result);
    } else if (op->state.on_thread) {
      withdraw(static_cast<FileOp&>(*op));
    } else if (op->state.in_kernel) {
      interrupt(*op);
    } else if (op->state.ending != 0) {
      resume(*op, op->state.ending);
    } else if (op->kind == Op::Kind::sleep) {
      if (op->state.due_ms == turns_) enqueue(*op);
      else resume(*op, 0);
    } else if (retry(*op)) {
      resume(*op, op->state.result);
    }
  }
  running_queue_.clear();
}

// --- ending early -----------------------------------------------------------------------------

// Queues `op` instead of resuming it, because the caller may be in the middle of other work.
void LoopEngine::end_early(Op& op, int error) {
  if (op.state.ending == 0) op.state.ending = error;
  enqueue(op);
}

void LoopEngine::cancel(Op& op) {
  if (op.pending()) end_early(op, -ECANCELED);
}

void LoopEngine::cancel_all() {
  cancelling_ = true;
  for (Op* op = pending_; op != nullptr; op = op->state.next) {
    if (!op->outlasts_cancel_all) cancel(*op);
  }
}

void LoopEngine::arm(Op& op) {
  if (op.timeout_ms == 0) {
    if (op.kind != Op::Kind::sleep) return;
    op.state.due_ms = turns_;  // it ends in a later one
    enqueue(op);
    return;
  }
  op.state.due_ms = now_ms_ + op.timeout_ms;
  if (op.kind == Op::Kind::sleep) {
    SleepOp& sleep = static_cast<SleepOp&>(op);
    sleep.timer.owner = &sleep;
    sleep.timer.fire = [](base::Timer& timer) {
      SleepOp& owner = *static_cast<SleepOp*>(timer.owner);
      if (!owner.state.queued) static_cast<LoopEngine&>(owner.engine).resume(owner, 0);
    };
    timers_.arm(sleep.timer, op.state.due_ms);
    return;
  }
  base::Timer& timer = op.socket->state.timer;
  timer.owner = op.socket;
  timer.fire = [](base::Timer& fired) {
    Socket& owner = *static_cast<Socket*>(fired.owner);
    static_cast<LoopEngine&>(owner.engine()).expire(owner);
  };
  timers_.arm(timer, op.state.due_ms);
}

// The socket's timer fired: ends the operations that are due and rearms it for the others.
void LoopEngine::expire(Socket& socket) {
  for (Op* const op : {socket.state.reader, socket.state.writer}) {
    if (op == nullptr || op->state.due_ms == 0) continue;
    if (op->state.due_ms <= now_ms_) {
      end_early(*op, -ETIMEDOUT);
    } else {
      timers_.arm(socket.state.timer, op->state.due_ms);
    }
  }
}

// --- the loop ---------------------------------------------------------------------------------

void LoopEngine::run() {
  stopping_ = false;
  end_turn();  // of what has begun before the first wait
  read_clocks();
  while (!stopping_) {
    sleeping_.store(true, std::memory_order_seq_cst);
    const bool asked = wake_requested_.load(std::memory_order_seq_cst);
    run_once(queued_.empty() && !asked ? wait_ms() : 0);
  }
}

int LoopEngine::turn() {
  constexpr int rounds_max = 16;  // of what completes at once; then the other loop has its turn
  const std::int64_t due_ms = base::monotonic_ms() + long_turn_ms;
  for (int round = 0; round < rounds_max; ++round) {
    run_once(0);
    // As before a wait: from here on wake() makes the descriptor readable.
    sleeping_.store(true, std::memory_order_seq_cst);
    const bool asked = wake_requested_.load(std::memory_order_seq_cst);
    if (queued_.empty() && !asked) return wait_ms();
    if (base::monotonic_ms() >= due_ms) break;
  }
  return 0;
}

void LoopEngine::run_once(int ms) {
  ++turns_;
  wait(ms);
  if (files_out_ > 0) {
    for (FileThreads* const threads : all_threads()) {
      if (threads->lacks_threads()) threads->retry();
    }
  }
  timers_.advance(now_ms_);
  run_queued();
  const bool memory_needs_care =
      base::MemoryBudget::of_process().is_short() || base::FreedMemory::of_process().asked();
  if (memory_needs_care) [[unlikely]]
    relieve_locals();
  end_turn();
}

std::int64_t LoopEngine::turn_ms() const noexcept { return base::monotonic_ms() - now_ms_; }

void LoopEngine::end_turn() {
  TurnWatch* const watch = turn_watch();
  if (watch == nullptr) return;
  const std::int64_t ms = turn_ms();
  watch->note(ms, now_ms_ + ms);
}

void LoopEngine::read_clocks() noexcept {
  now_ms_ = base::monotonic_ms();
  unix_seconds_ = base::unix_seconds();
}

void LoopEngine::woken() {
  finish_files();
  wake_locals();
  was_woken_ = true;
  if (woken_ == nullptr || woken_->state.queued) return;
  was_woken_ = false;
  resume(*woken_, 0);
}

void LoopEngine::wake() noexcept {
  // One write serves all calls until the engine resets wake_requested_. A running engine needs
  // none: either it sees wake_requested_ before it sleeps, or this thread sees sleeping_.
  if (wake_requested_.exchange(true, std::memory_order_seq_cst)) return;
  if (!sleeping_.load(std::memory_order_seq_cst)) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
}

// Uses an exchange. With a store, data written before a wake() that found the flag set might not be
// visible.
bool LoopEngine::awake() noexcept {
  sleeping_.store(false, std::memory_order_seq_cst);
  return wake_requested_.load(std::memory_order_relaxed) &&
         wake_requested_.exchange(false, std::memory_order_seq_cst);
}

// --- buffers ----------------------------------------------------------------------------------

char* LoopEngine::take_buffer() {
  if (buffers_.empty()) {
    if (++buffers_alive_ > buffers_reserved_) {
      base::MemoryBudget::of_process().charge(base::MemoryOwner::receiving, buffer_bytes_);
    }
    return std::make_unique_for_overwrite<char[]>(buffer_bytes_).release();
  }
  char* const buffer = buffers_.back().release();
  buffers_.pop_back();
  return buffer;
}

void LoopEngine::take_back(char* buffer) noexcept {
  std::unique_ptr<char[]> owned(buffer);
  if (buffers_.size() < buffers_kept_max_) buffers_.push_back(std::move(owned));
  else free_buffer(std::move(owned));
}

void LoopEngine::free_buffer(std::unique_ptr<char[]> buffer) noexcept {
  buffer.reset();
  if (buffers_alive_-- > buffers_reserved_) {
    base::MemoryBudget::of_process().discharge(base::MemoryOwner::receiving, buffer_bytes_);
  }
}

void LoopEngine::free_spare_buffers() noexcept {
  for (std::unique_ptr<char[]>& buffer : buffers_) free_buffer(std::move(buffer));
  buffers_.clear();
}

}  // namespace h2server::io
