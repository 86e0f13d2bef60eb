#include "floor/uring_loop.h"

#include <fmt/format.h>
#include <liburing.h>
#include <poll.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace h2server::lab::floor {

namespace {

constexpr unsigned submissions = 4096;  // a fuller turn costs one more system call
constexpr unsigned buffer_count = 256;  // a power of two; few, to stay in the cache
constexpr std::size_t buffer_bytes = 8 * 1024;
constexpr std::size_t ring_bytes = buffer_count * sizeof(io_uring_buf);
constexpr std::uint16_t buffer_group = 0;
constexpr std::size_t try_bytes_max = 64 * 1024;  // fits an empty socket buffer

enum class What : std::uint64_t { stop, accept, receive, send };

std::uint64_t key_of(int descriptor, What what) noexcept {
  return std::uint64_t(static_cast<std::uint32_t>(descriptor)) << 2 |
         static_cast<std::uint64_t>(what);
}

}  // namespace

struct UringLoop::Completion {
  int descriptor;
  What what;
  int result;
  unsigned flags;

  [[nodiscard]] bool more() const noexcept { return (flags & IORING_CQE_F_MORE) != 0; }
};

// --- opening ----------------------------------------------------------------------------------

Result<std::unique_ptr<UringLoop>, std::string> UringLoop::open(const LoopOptions& options) {
  auto loop = std::make_unique<UringLoop>(options);
  if (Result<void, std::string> done = loop->set_up(); !done) return std::unexpected(done.error());
  return loop;
}

UringLoop::UringLoop(const LoopOptions& options)
    : options_(options),
      ring_(std::make_unique<io_uring>()),
      buffers_(buffer_count * buffer_bytes) {}

UringLoop::~UringLoop() {
  // Close the ring first: it may still receive into the buffers.
  if (ring_open_) ::io_uring_queue_exit(ring_.get());
  if (buffer_ring_ != nullptr) ::munmap(buffer_ring_, ring_bytes);
}

Result<void, std::string> UringLoop::set_up() {
  io_uring_params params{};
  params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL |
                 IORING_SETUP_CQSIZE;
  params.cq_entries = submissions * 4;
  int error = ::io_uring_queue_init_params(submissions, ring_.get(), &params);
  if (error < 0) return std::unexpected(explain("io_uring_setup", -error));
  ring_open_ = true;
  ::io_uring_register_ring_fd(ring_.get());  // saves a look-up per call; failure is harmless
  void* const memory =
      ::mmap(nullptr, ring_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return std::unexpected(explain("mmap", errno));
  buffer_ring_ = static_cast<io_uring_buf_ring*>(memory);
  ::io_uring_buf_ring_init(buffer_ring_);
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<std::uintptr_t>(memory);
  registration.ring_entries = buffer_count;
  registration.bgid = buffer_group;
  error = ::io_uring_register_buf_ring(ring_.get(), &registration, 0);
  if (error < 0) return std::unexpected(explain("io_uring_register_buf_ring", -error));
  for (std::uint16_t i = 0; i < buffer_count; ++i) give_buffer(i);
  io_uring_sqe* const entry = next_entry();
  ::io_uring_prep_poll_add(entry, options_.stop, POLLIN);
  ::io_uring_sqe_set_data64(entry, key_of(options_.stop, What::stop));
  arm_accept();
  return {};
}

io_uring_sqe* UringLoop::next_entry() {
  io_uring_sqe* entry = ::io_uring_get_sqe(ring_.get());
  if (entry != nullptr) return entry;
  ::io_uring_submit(ring_.get());
  entry = ::io_uring_get_sqe(ring_.get());
  ASSERT(entry != nullptr);
  return entry;
}

void UringLoop::give_buffer(std::uint16_t number) noexcept {
  ::io_uring_buf_ring_add(buffer_ring_, buffers_.data() + number * buffer_bytes, buffer_bytes,
                          number, ::io_uring_buf_ring_mask(buffer_count), 0);
  ::io_uring_buf_ring_advance(buffer_ring_, 1);
}

// --- the loop ---------------------------------------------------------------------------------

Result<void, std::string> UringLoop::run() {
  while (true) {
    tried_.swap(trying_);
    const int submitted = ::io_uring_submit_and_wait(ring_.get(), 1);
    // EBUSY, EAGAIN: the completion queue must be drained first.
    if (submitted < 0 && submitted != -EINTR && submitted != -EBUSY && submitted != -EAGAIN) {
      return std::unexpected(explain("io_uring_enter", -submitted));
    }
    unsigned head = 0;
    unsigned count = 0;
    io_uring_cqe* entry = nullptr;
    bool going_on = true;
    io_uring_for_each_cqe(ring_.get(), head, entry) {
      ++count;
      const Result<bool, std::string> done =
          complete({.descriptor = static_cast<int>(entry->user_data >> 2),
                    .what = static_cast<What>(entry->user_data & 3),
                    .result = entry->res,
                    .flags = entry->flags});
      if (!done) return std::unexpected(done.error());
      going_on = going_on && *done;
    }
    ::io_uring_cq_advance(ring_.get(), count);
    if (!going_on) return {};
    settle();
    answer();
  }
}

Result<bool, std::string> UringLoop::complete(const Completion& completion) {
  switch (completion.what) {
    case What::stop:
      return false;
    case What::accept:
      if (Result<void, std::string> done = accepted(completion); !done) {
        return std::unexpected(done.error());
      }
      return true;
    case What::receive:
      received(*clients_[static_cast<std::size_t>(completion.descriptor)], completion);
      return true;
    case What::send:
      sent(*clients_[static_cast<std::size_t>(completion.descriptor)], completion);
      return true;
  }
  ASSERT(false);
}

void UringLoop::arm_accept() {
  io_uring_sqe* const entry = next_entry();
  ::io_uring_prep_multishot_accept(entry, options_.listener, nullptr, nullptr, SOCK_CLOEXEC);
  ::io_uring_sqe_set_data64(entry, key_of(options_.listener, What::accept));
}

Result<void, std::string> UringLoop::accepted(const Completion& completion) {
  if (!completion.more()) arm_accept();
  if (completion.result < 0) {
    const int error = -completion.result;
    if (error == EAGAIN || error == EINTR || error == ECONNABORTED || error == EPROTO) return {};
    return std::unexpected(explain("accept (too many connections for ulimit -n?)", error));
  }
  const auto place = static_cast<std::size_t>(completion.result);
  if (place >= clients_.size()) clients_.resize(place * 2 + 64);
  clients_[place] = std::make_unique<Client>(base::Fd(completion.result), options_, scratch_);
  arm_receive(*clients_[place]);
  return {};
}

// --- a connection -----------------------------------------------------------------------------

void UringLoop::arm_receive(Client& client) {
  io_uring_sqe* const entry = next_entry();
  const int descriptor = client.socket.get();
  if (options_.answers.close()) {
    ::io_uring_prep_recv(entry, descriptor, nullptr, 0, 0);  // one request, so one receive
  } else {
    ::io_uring_prep_recv_multishot(entry, descriptor, nullptr, 0, 0);
  }
  entry->flags |= IOSQE_BUFFER_SELECT;
  entry->buf_group = buffer_group;
  ::io_uring_sqe_set_data64(entry, key_of(descriptor, What::receive));
  client.receiving = true;
}

void UringLoop::received(Client& client, const Completion& completion) {
  client.receiving = completion.more();
  if (completion.result > 0) {
    const auto number = static_cast<std::uint16_t>(completion.flags >> IORING_CQE_BUFFER_SHIFT);
    const auto bytes = static_cast<std::size_t>(completion.result);
    if (!client.connection.receive({buffers_.data() + number * buffer_bytes, bytes})) {
      client.connection.ended = true;
    }
    give_buffer(number);
  } else if (completion.result != -ENOBUFS && completion.result != -EINTR) {
    client.connection.ended = true;  // closed or reset by the client
  }
  answer_later(client);
}

// Answers after the turn's last completion. A try that succeeds has no completion, so input that
// arrived after a try was prepared would get no answer.
void UringLoop::answer_later(Client& client) {
  if (!std::exchange(client.to_answer, true)) to_answer_.push_back(client.socket.get());
}

// Handles the completion of a waiting send or of a failed try.
void UringLoop::sent(Client& client, const Completion& completion) {
  client.sending = Sending::nothing;
  Output& output = *client.connection.output;
  const int result = completion.result;
  if (result > 0) output.sent(static_cast<std::size_t>(result));
  if (result <= 0 && result != -EINTR && result != -EAGAIN) {  // the client is gone
    output.clear();
    client.broken = client.connection.ended = true;
  }
  if (output.bytes() > 0) return send_rest(client);
  answer_later(client);
}

// The tries of the last submission without a completion have succeeded.
void UringLoop::settle() {
  for (const int descriptor : tried_) {
    const std::unique_ptr<Client>& client = clients_[static_cast<std::size_t>(descriptor)];
    if (client == nullptr || client->sending != Sending::trying) continue;
    client->sending = Sending::nothing;
    outputs_.give_back(std::move(client->connection.output));
  }
  tried_.clear();
}

// Answers each client once per turn, so input that came in pieces gets one send.
void UringLoop::answer() {
  for (const int descriptor : to_answer_) {
    Client* const client = clients_[static_cast<std::size_t>(descriptor)].get();
    if (client == nullptr || !std::exchange(client->to_answer, false)) continue;
    ASSERT(client->sending != Sending::trying);
    if (client->sending == Sending::nothing && !client->broken) send_more(*client);
    if (!client->receiving && !client->over()) arm_receive(*client);
    end_if_idle(*client);
  }
  to_answer_.clear();
}

// No send may be in flight: two sends could be reordered.
void UringLoop::send_more(Client& client) {
  Connection& connection = client.connection;
  if (connection.output == nullptr) connection.output = outputs_.take();
  Output& output = *connection.output;
  connection.fill(output);
  if (output.bytes() == 0) return outputs_.give_back(std::move(connection.output));
  // The last output waits for its completion, which closes the connection.
  if (output.bytes() > try_bytes_max || client.over()) return send_rest(client);
  io_uring_sqe* const entry = prepare_send(client, MSG_DONTWAIT);
  entry->flags |= IOSQE_CQE_SKIP_SUCCESS;
  client.sending = Sending::trying;
  trying_.push_back(client.socket.get());
}

void UringLoop::send_rest(Client& client) {
  prepare_send(client, 0);
  client.sending = Sending::waiting;
}

io_uring_sqe* UringLoop::prepare_send(Client& client, int more_flags) {
  const std::span<iovec> pieces = client.connection.output->pieces();
  io_uring_sqe* const entry = next_entry();
  // MSG_WAITALL: the kernel continues a partial send.
  const int flags = MSG_NOSIGNAL | MSG_WAITALL | more_flags;
  if (pieces.size() == 1) {
    ::io_uring_prep_send(entry, client.socket.get(), pieces[0].iov_base, pieces[0].iov_len, flags);
  } else {
    client.message.msg_iov = pieces.data();
    client.message.msg_iovlen = pieces.size();
    ::io_uring_prep_sendmsg(entry, client.socket.get(), &client.message,
                            static_cast<unsigned>(flags));
  }
  ::io_uring_sqe_set_data64(entry, key_of(client.socket.get(), What::send));
  return entry;
}

void UringLoop::end_if_idle(Client& client) {
  if (client.sending != Sending::nothing || !client.over()) return;
  if (!client.receiving) {
    clients_[static_cast<std::size_t>(client.socket.get())].reset();
  } else if (!client.shut) {
    client.shut = true;
    ::shutdown(client.socket.get(), SHUT_RDWR);  // ends the receive, then the client
  }
}

}  // namespace h2server::lab::floor
