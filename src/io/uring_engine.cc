#include "io/uring_engine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <liburing.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "io/socket_calls.h"

namespace h2server::io {

// One multishot operation. The kernel may refer to it after its socket is destroyed.
struct UringSlot {
  // Received data or an accepted connection that no operation has taken.
  struct Arrived {
    char* buffer;  // null: an accepted connection
    int result;    // bytes, or a descriptor
  };
  static constexpr int open = 1;

  Socket* socket = nullptr;  // null: forgotten
  UringSlot* next_free = nullptr;
  std::vector<Arrived> arrived;
  std::size_t first = 0;  // index into arrived; earlier items were taken
  int ending = open;      // open, or why the input ended: 0 or a negative errno value
  Op::Kind kind = Op::Kind::receive;
  bool armed = false;     // in the kernel
  bool stopping = false;  // the kernel has been asked to end it
  bool starved = false;   // the kernel had no buffer
  bool slow = false;      // more arrived than was read: no multishot any more
  bool last = false;      // of a listener: not armed again

  [[nodiscard]] std::size_t unread() const noexcept { return arrived.size() - first; }
};

namespace {

constexpr std::uint16_t buffer_group = 0;
constexpr std::uint8_t inline_files_max = 4;      // parts of a file sent at once: 2 MiB
constexpr std::uint8_t inline_receives_max = 16;  // of a slow socket before other sockets run

// The kind of object that a completion's user data points to; in the low bits.
enum class Tag : std::uint64_t { op, slot, event, ignored, passing, passed };
constexpr std::uint64_t tag_mask = 7;

std::uint64_t user_data_of(const void* object, Tag tag) noexcept {
  return reinterpret_cast<std::uintptr_t>(object) | static_cast<std::uint64_t>(tag);
}

// Encodes a descriptor in transit to a ring, so that a retry needs no allocated state.
std::uint64_t key_of_passing(int ring, int descriptor) noexcept {
  return std::uint64_t(static_cast<std::uint32_t>(descriptor)) << 32 |
         std::uint64_t(static_cast<std::uint32_t>(ring)) << 3 |
         static_cast<std::uint64_t>(Tag::passing);
}

}  // namespace

struct UringEngine::Completion {
  std::uint64_t key;
  int result;
  unsigned flags;
};

// --- opening ----------------------------------------------------------------------------------

Result<std::unique_ptr<UringEngine>> UringEngine::open(const UringLimits& limits) {
  base::Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) return std::unexpected(Error{errno, "eventfd"});
  std::unique_ptr<UringEngine> engine(new UringEngine(limits, std::move(event)));
  if (Result<void> done = engine->set_up(); !done) return std::unexpected(done.error());
  return engine;
}

UringEngine::UringEngine(const UringLimits& limits, base::Fd event)
    : LoopEngine(std::move(event), {.bytes = limits.buffer_bytes,
                                    .kept_max = limits.buffers_max / 4,
                                    .reserved = limits.buffers}),
      limits_(limits),
      wanted_(limits.buffers) {}

Result<void> UringEngine::set_up() {
  auto ring = std::make_unique<io_uring>();
  io_uring_params params{};
  // The kernel processes completions only when this thread asks for them.
  params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL |
                 IORING_SETUP_CLAMP | IORING_SETUP_CQSIZE;
  params.cq_entries = limits_.submissions * 4;
  int error = ::io_uring_queue_init_params(limits_.submissions, ring.get(), &params);
  if (error < 0) return std::unexpected(Error{-error, "io_uring_setup"});
  ring_ = std::move(ring);
  constexpr unsigned features = IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG | IORING_FEAT_CQE_SKIP;
  if ((params.features & features) != features) return std::unexpected(Error{EINVAL, "io_uring"});
  void* const memory = ::mmap(nullptr, limits_.buffers_max * sizeof(io_uring_buf),
                              PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return std::unexpected(Error{errno, "mmap"});
  buffer_ring_ = static_cast<io_uring_buf_ring*>(memory);
  ::io_uring_buf_ring_init(buffer_ring_);
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<std::uintptr_t>(memory);
  registration.ring_entries = limits_.buffers_max;
  registration.bgid = buffer_group;
  error = ::io_uring_register_buf_ring(ring_.get(), &registration, 0);
  if (error < 0) return std::unexpected(Error{-error, "io_uring_register_buf_ring"});
  provided_.resize(limits_.buffers_max);
  for (unsigned i = limits_.buffers_max; i-- > 0;) {
    free_numbers_.push_back(static_cast<std::uint16_t>(i));
  }
  watch_event();
  return {};
}

UringEngine::~UringEngine() {
  drop_locals();
  get_back();
  for (const UringSlot& slot : slots_) ASSERT(slot.socket == nullptr);
  if (ring_ != nullptr) ::io_uring_queue_exit(ring_.get());
  for (char* const buffer : provided_) {
    if (buffer != nullptr) take_back(buffer);
  }
  if (buffer_ring_ != nullptr) {
    ::munmap(buffer_ring_, limits_.buffers_max * sizeof(io_uring_buf));
  }
}

// --- starting ---------------------------------------------------------------------------------

io_uring_sqe& UringEngine::next_entry() { return submissions_.next(*ring_); }

bool UringEngine::begin(Op& op) {
  switch (op.kind) {
    case Op::Kind::accept:
    case Op::Kind::receive:
      return begin_multishot(op);
    case Op::Kind::send: {
      SendOp& send = static_cast<SendOp&>(op);
      if (send.file.size == 0) submit_send(send);
      else if (attempt_file(send)) return true;
      break;
    }
    case Op::Kind::file:
      submit_file(static_cast<FileOp&>(op));
      break;
    case Op::Kind::sleep:
    case Op::Kind::woken:
      return false;
  }
  op.state.in_kernel = true;
  return false;
}

bool UringEngine::retry(Op&) {
  ASSERT(!"nothing waits for a turn of its own");
  return false;
}

// io_uring has no sendfile() operation, so this calls sendfile() and polls for room through the
// ring. Also polls after inline_files_max parts, so that other sockets get their turn. Returns true
// if `op` completed.
bool UringEngine::attempt_file(SendOp& op) {
  std::uint8_t& left = op.socket->state.inline_left;
  if (left > 0) {
    --left;
    op.state.result = send_file(op.socket->fd(), op.file);
    if (op.state.result != -EAGAIN) return true;
  }
  left = inline_files_max;
  io_uring_sqe& entry = next_entry();
  ::io_uring_prep_poll_add(&entry, op.socket->fd(), POLLOUT);
  entry.user_data = user_data_of(static_cast<Op*>(&op), Tag::op);
  return false;
}

void UringEngine::on_operation(Op& op, int result) {
  const bool has_room =
      op.kind == Op::Kind::send && result >= 0 && static_cast<SendOp&>(op).file.size > 0;
  if (!has_room) {
    complete(op, result);
  } else if (op.state.ending != 0) {  // the poll was too late to interrupt; nothing asks again
    complete(op, op.state.ending);
  } else if (attempt_file(static_cast<SendOp&>(op))) {
    complete(op, op.state.result);
  }
}

void UringEngine::submit_send(SendOp& op) {
  io_uring_sqe& entry = next_entry();
  const int fd = op.socket->fd();
  const int flags = MSG_NOSIGNAL | (op.more ? MSG_MORE : 0);
  if (op.message.msg_iovlen == 1) {
    const iovec& piece = *op.message.msg_iov;
    ::io_uring_prep_send(&entry, fd, piece.iov_base, piece.iov_len, flags);
  } else {
    ::io_uring_prep_sendmsg(&entry, fd, &op.message, static_cast<unsigned>(flags));
  }
  entry.user_data = user_data_of(static_cast<Op*>(&op), Tag::op);
}

void UringEngine::submit_file(FileOp& op) {
  io_uring_sqe& entry = next_entry();
  const FileCall& call = op.call;
  switch (call.action) {
    case FileCall::Action::open:
      ::io_uring_prep_openat2(&entry, call.descriptor, call.path, const_cast<open_how*>(&call.how));
      break;
    case FileCall::Action::read:
      ::io_uring_prep_read(&entry, call.descriptor, call.memory, static_cast<unsigned>(call.size),
                           call.offset);
      break;
    case FileCall::Action::populate:
      ::io_uring_prep_madvise(&entry, call.memory, static_cast<off_t>(call.size),
                              MADV_POPULATE_READ);
      break;
    case FileCall::Action::run:
      ASSERT(!"a thread's");
      break;
  }
  entry.user_data = user_data_of(static_cast<Op*>(&op), Tag::op);
}

void UringEngine::cancel_in_kernel(std::uint64_t key) {
  io_uring_sqe& entry = next_entry();
  ::io_uring_prep_cancel64(&entry, key, 0);
  entry.flags |= IOSQE_CQE_SKIP_SUCCESS;
  entry.user_data =
      user_data_of(nullptr, Tag::ignored);  // ENOENT, EALREADY: it completes by itself
}

void UringEngine::interrupt(Op& op) { cancel_in_kernel(user_data_of(&op, Tag::op)); }

// --- receiving and accepting ------------------------------------------------------------------

UringSlot& UringEngine::slot_of(Socket& socket, Op::Kind kind) {
  if (socket.state.slot != nullptr) return *socket.state.slot;
  UringSlot* slot = free_slots_;
  if (slot == nullptr) {
    slot = &slots_.emplace_back();
  } else {
    free_slots_ = slot->next_free;
  }
  slot->socket = &socket;
  slot->kind = kind;
  socket.state.slot = slot;
  if (kind == Op::Kind::accept) {
    // io_uring waits for a socket only if it is in blocking mode.
    const int flags = ::fcntl(socket.fd(), F_GETFL);
    ::fcntl(socket.fd(), F_SETFL, flags & ~O_NONBLOCK);
  }
  return *slot;
}

// Tries a socket's first receive directly. A new connection's request has often arrived already,
// and a connection with one request then needs no multishot operation, which would have to be
// cancelled (4 us of a short connection's 29 us).
bool UringEngine::receive_at_once(ReceiveOp& op) {
  if (!std::exchange(op.socket->state.readable, false)) return false;
  op.state.result = receive_now(*this, op);
  return op.state.result != -EAGAIN;
}

bool UringEngine::begin_multishot(Op& op) {
  if (op.kind == Op::Kind::receive && receive_at_once(static_cast<ReceiveOp&>(op))) return true;
  UringSlot& slot = slot_of(*op.socket, op.kind);
  if (take_arrived(slot, op)) return true;
  if (slot.armed || slot.starved) return false;
  ASSERT(!slot.last);
  if (slot.slow && receive_directly(static_cast<ReceiveOp&>(op))) return true;
  arm(slot);
  return false;
}

// Receives on a slow socket, which has no multishot operation any more. A turn for each of its
// buffers would cost more than a system call: for an upload to disk, a third of the CPU time.
bool UringEngine::receive_directly(ReceiveOp& op) {
  Socket::State& state = op.socket->state;
  if (state.inline_left == 0) {
    state.inline_left = inline_receives_max;
    return false;
  }
  --state.inline_left;
  state.readable = true;
  return receive_at_once(op);
}

// Sets the result of `op` from what has arrived. Returns false if nothing has.
bool UringEngine::take_arrived(UringSlot& slot, Op& op) {
  if (slot.unread() == 0) {
    if (slot.last && !slot.armed) slot.ending = -ECANCELED;
    if (slot.ending == UringSlot::open) return false;
    op.state.result = slot.ending;
    // An accept may be retried once descriptors are free.
    if (op.kind == Op::Kind::accept) slot.ending = UringSlot::open;
    return true;
  }
  const UringSlot::Arrived arrived = slot.arrived[slot.first++];
  if (slot.unread() == 0) {
    slot.arrived.clear();
    slot.first = 0;
  }
  op.state.result = arrived.result;
  if (op.kind == Op::Kind::receive) {
    ReceiveOp& receive = static_cast<ReceiveOp&>(op);
    receive.lease = Lease(*this, arrived.buffer, buffer_bytes());
    receive.lease.set_size(static_cast<std::size_t>(arrived.result));
  }
  return true;
}

void UringEngine::arm(UringSlot& slot) {
  io_uring_sqe& entry = next_entry();
  if (slot.kind == Op::Kind::accept) {
    ::io_uring_prep_multishot_accept(&entry, slot.socket->fd(), nullptr, nullptr, SOCK_CLOEXEC);
  } else {
    ::io_uring_prep_recv(&entry, slot.socket->fd(), nullptr, 0, 0);
    if (!slot.slow) entry.ioprio |= IORING_RECV_MULTISHOT;
    entry.flags |= IOSQE_BUFFER_SELECT;
    entry.buf_group = buffer_group;
  }
  entry.user_data = user_data_of(&slot, Tag::slot);
  slot.armed = true;
}

void UringEngine::on_multishot(UringSlot& slot, const Completion& completion) {
  if ((completion.flags & IORING_CQE_F_MORE) == 0) slot.armed = slot.stopping = false;
  keep_arrived(slot, completion);
  if (slot.socket == nullptr) {
    if (slot.armed) return;
    --forgotten_;
    release(slot);
    return;
  }
  deliver(slot);
}

void UringEngine::keep_arrived(UringSlot& slot, const Completion& completion) {
  char* buffer = nullptr;
  if (completion.flags & IORING_CQE_F_BUFFER) {
    const unsigned number = completion.flags >> IORING_CQE_BUFFER_SHIFT;
    buffer = std::exchange(provided_[number], nullptr);
    free_numbers_.push_back(static_cast<std::uint16_t>(number));
  }
  const int result = completion.result;
  const bool accepted = slot.kind == Op::Kind::accept && result >= 0;
  if (slot.socket != nullptr && (accepted || (buffer != nullptr && result > 0))) {
    slot.arrived.push_back({buffer, result});
    return;
  }
  if (buffer != nullptr) take_back(buffer);
  if (accepted) {
    ::close(result);  // the listener was destroyed meanwhile
  } else if (result == -ENOBUFS && slot.kind == Op::Kind::receive) {
    slot.starved = true;
    starved_.push_back(&slot);
  } else if (result == -ECANCELED || result == -EAGAIN ||
             (slot.kind == Op::Kind::accept && concerns_one_connection(-result))) {
    // Armed again when a reader waits.
  } else {
    slot.ending = result;
  }
}

// Gives what has arrived to the waiting reader, or stops the multishot operation if too much has.
void UringEngine::deliver(UringSlot& slot) {
  Op* const reader = slot.socket->state.reader;
  if (reader == nullptr || reader->state.queued) {
    const bool enough = slot.unread() >= limits_.unread_buffers_max;
    if (!enough) return;
    slot.slow = true;
    if (slot.armed && !std::exchange(slot.stopping, true)) {
      cancel_in_kernel(user_data_of(&slot, Tag::slot));
    }
    return;
  }
  if (take_arrived(slot, *reader)) {
    resume(*reader, reader->state.result);
  } else if (!slot.armed && !slot.starved) {
    arm(slot);
  }
}

bool UringEngine::end_accepting(Socket& listener) {
  UringSlot* const slot = listener.state.slot;
  if (slot == nullptr) return false;
  slot->last = true;
  if (slot->armed && !std::exchange(slot->stopping, true)) {
    cancel_in_kernel(user_data_of(slot, Tag::slot));
  }
  // Else the end of the multishot operation delivers.
  if (!slot->armed) deliver(*slot);
  return true;
}

void UringEngine::forget(Socket& socket) noexcept {
  disarm(socket);
  UringSlot* const slot = socket.state.slot;
  if (slot == nullptr) return;
  for (std::size_t i = slot->first; i < slot->arrived.size(); ++i) {
    const UringSlot::Arrived& arrived = slot->arrived[i];
    if (arrived.buffer != nullptr) take_back(arrived.buffer);
    else ::close(arrived.result);
  }
  slot->arrived.clear();
  slot->socket = nullptr;
  if (!slot->armed) {
    release(*slot);
    return;
  }
  ++forgotten_;
  if (!slot->stopping) cancel_in_kernel(user_data_of(slot, Tag::slot));
}

void UringEngine::release(UringSlot& slot) {
  std::vector<UringSlot::Arrived> kept = std::move(slot.arrived);
  slot = UringSlot();
  slot.arrived = std::move(kept);
  slot.next_free = free_slots_;
  free_slots_ = &slot;
}

void UringEngine::provide_buffers() {
  const auto with_kernel = [this] { return provided_.size() - free_numbers_.size(); };
  const int mask = ::io_uring_buf_ring_mask(limits_.buffers_max);
  int added = 0;
  while (with_kernel() < wanted_) {
    const std::uint16_t number = free_numbers_.back();
    free_numbers_.pop_back();
    provided_[number] = take_buffer();
    ::io_uring_buf_ring_add(buffer_ring_, provided_[number], static_cast<unsigned>(buffer_bytes()),
                            number, mask, added++);
  }
  if (added > 0) ::io_uring_buf_ring_advance(buffer_ring_, added);
}

// Arms starved slots again, one turn later and after providing buffers. Armed at once, a slot would
// starve again, and a turn with many such sockets would never end.
void UringEngine::feed_starved() {
  if (starved_.empty()) return;
  // What the kernel has can't be taken back.
  const std::uint64_t most =
      base::MemoryBudget::of_process().at_most(std::uint64_t{limits_.buffers_max} * buffer_bytes(),
                                               UringLimits::parts) /
      buffer_bytes();
  wanted_ = std::min(wanted_ * 2, std::max(static_cast<unsigned>(most), limits_.buffers));
  wanted_ms_ = now_ms();
  provide_buffers();
  for (UringSlot* const slot : std::exchange(starved_, {})) {
    if (!std::exchange(slot->starved, false)) continue;  // forgotten meanwhile
    if (!slot->armed && slot->socket->state.reader != nullptr) arm(*slot);
  }
}

// The kernel keeps the buffers that it has until it uses them; then they are freed.
void UringEngine::want_fewer_buffers() noexcept {
  if (wanted_ <= limits_.buffers || now_ms() - wanted_ms_ < limits_.buffers_shrink_ms) return;
  wanted_ = std::max(wanted_ / 2, limits_.buffers);
  wanted_ms_ = now_ms();
}

// --- the loop ---------------------------------------------------------------------------------

void UringEngine::run() {
  // Saves a lookup in the descriptor table per turn. The registration belongs to this thread, so it
  // is undone below. A failure is harmless.
  ::io_uring_register_ring_fd(ring_.get());
  LoopEngine::run();
  do {  // submits descriptors that were passed last
    passed_on_again_ = false;
    wait(0);
  } while (passed_on_again_ || submissions_.held_back());
  get_back();
  ::io_uring_unregister_ring_fd(ring_.get());
}

// Waits for the operations of forgotten sockets, before the memory they refer to is freed.
void UringEngine::get_back() {
  while (forgotten_ > 0) wait(-1);
}

void UringEngine::wait(int ms) {
  feed_starved();
  want_fewer_buffers();
  provide_buffers();
  submissions_.enter(*ring_, ms);
  const bool asked = awake();
  read_clocks();
  if (asked) woken();
  // Entries are copied first, because a resumed coroutine may submit, which may add completions.
  // Those belong to the next turn.
  unsigned left = ::io_uring_cq_ready(ring_.get());
  std::array<io_uring_cqe*, 128> entries;
  std::array<Completion, 128> batch;
  while (left > 0) {
    const unsigned count = ::io_uring_peek_batch_cqe(
        ring_.get(), entries.data(), std::min(left, static_cast<unsigned>(entries.size())));
    for (unsigned i = 0; i < count; ++i) {
      batch[i] = {entries[i]->user_data, entries[i]->res, entries[i]->flags};
    }
    ::io_uring_cq_advance(ring_.get(), count);
    for (unsigned i = 0; i < count; ++i) dispatch(batch[i]);
    left -= count;
  }
}

void UringEngine::dispatch(const Completion& completion) {
  void* const object = reinterpret_cast<void*>(completion.key & ~tag_mask);
  switch (static_cast<Tag>(completion.key & tag_mask)) {
    case Tag::op:
      on_operation(*static_cast<Op*>(object), completion.result);
      return;
    case Tag::slot:
      on_multishot(*static_cast<UringSlot*>(object), completion);
      return;
    case Tag::event:
      if ((completion.flags & IORING_CQE_F_MORE) == 0) watch_event();
      return;             // wait() handles it
    case Tag::passing: {  // failed: EAGAIN, ENOMEM, EOVERFLOW; the other engine outlives this one
      ASSERT(completion.result != -EBADF && completion.result != -EBADFD);
      const auto ring = static_cast<int>(completion.key >> 3 & 0x1fffffff);
      send_descriptor(ring, static_cast<int>(completion.key >> 32));
      passed_on_again_ = true;
      return;
    }
    case Tag::passed:
      passed_.emplace_back(completion.result);
      woken();
      return;
    case Tag::ignored:
      return;
  }
}

// --- waking and passing on --------------------------------------------------------------------

void UringEngine::watch_event() {
  io_uring_sqe& entry = next_entry();
  ::io_uring_prep_poll_multishot(&entry, event(), POLLIN);
  entry.user_data = user_data_of(nullptr, Tag::event);
}

int UringEngine::ring_descriptor() const noexcept { return ring_->ring_fd; }

bool UringEngine::pass(Engine& to, base::Fd& descriptor) {
  const int ring = to.ring_descriptor();
  if (ring < 0) return false;
  send_descriptor(ring, descriptor.release());
  return true;
}

void UringEngine::send_descriptor(int ring, int descriptor) {
  io_uring_sqe& entry = next_entry();
  ::io_uring_prep_msg_ring(&entry, ring, static_cast<unsigned>(descriptor),
                           user_data_of(nullptr, Tag::passed), 0);
  entry.flags |= IOSQE_CQE_SKIP_SUCCESS;
  entry.user_data = key_of_passing(ring, descriptor);
}

base::Fd UringEngine::take_passed() {
  if (passed_.empty()) return {};
  base::Fd descriptor = std::move(passed_.back());
  passed_.pop_back();
  return descriptor;
}

}  // namespace h2server::io
