#include "floor/epoll_loop.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace h2server::lab::floor {

namespace {

constexpr std::size_t receive_bytes = 64 * 1024;  // requests of a turn; a full buffer is read again

// All events of a connection, edge-triggered. The registration never changes.
constexpr std::uint32_t connection_events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

}  // namespace

Result<std::unique_ptr<EpollLoop>, std::string> EpollLoop::open(const LoopOptions& options) {
  base::Fd set(::epoll_create1(EPOLL_CLOEXEC));
  if (!set.valid()) return std::unexpected(explain("epoll_create1", errno));
  auto loop = std::make_unique<EpollLoop>(options, std::move(set));
  if (!loop->watch(options.listener, EPOLLIN) || !loop->watch(options.stop, EPOLLIN)) {
    return std::unexpected(explain("epoll_ctl", errno));
  }
  return loop;
}

EpollLoop::EpollLoop(const LoopOptions& options, base::Fd set)
    : options_(options), set_(std::move(set)), buffer_(receive_bytes) {}

// Fails if memory or max_user_watches is exhausted.
bool EpollLoop::watch(int descriptor, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  return ::epoll_ctl(set_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

Result<void, std::string> EpollLoop::run() {
  while (true) {
    const int count =
        ::epoll_wait(set_.get(), events_.data(), static_cast<int>(events_.size()), -1);
    if (count < 0) {
      if (errno == EINTR) continue;
      return std::unexpected(explain("epoll_wait", errno));
    }
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events_[static_cast<std::size_t>(i)];
      if (event.data.fd == options_.stop) return {};
      if (event.data.fd != options_.listener) {
        serve(event.data.fd, event.events);
      } else if (Result<void, std::string> done = accept_all(); !done) {
        return done;
      }
    }
  }
}

Result<void, std::string> EpollLoop::accept_all() {
  while (true) {
    base::Fd accepted(::accept4(options_.listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (accepted.valid()) {
      start(std::move(accepted));
      continue;
    }
    if (errno == EAGAIN) return {};
    // The client closed the connection, or a network error is pending (accept(2)).
    if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
    return std::unexpected(explain("accept (too many connections for ulimit -n?)", errno));
  }
}

// Tries to read the first request at once. A short connection then never enters the epoll set.
void EpollLoop::start(base::Fd accepted) {
  const int descriptor = accepted.get();
  const auto place = static_cast<std::size_t>(descriptor);
  if (place >= clients_.size()) clients_.resize(place * 2 + 64);
  clients_[place] = std::make_unique<Client>(std::move(accepted), options_, scratch_);
  serve(descriptor, EPOLLIN);
  if (clients_[place] != nullptr && !watch(descriptor, connection_events)) clients_[place].reset();
}

void EpollLoop::serve(int descriptor, std::uint32_t events) {
  std::unique_ptr<Client>& client = clients_[static_cast<std::size_t>(descriptor)];
  if (client == nullptr) return;  // closed earlier in this turn
  constexpr std::uint32_t ends = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
  if ((events & (EPOLLIN | ends)) != 0 && !receive_all(*client, (events & ends) != 0)) {
    return client.reset();
  }
  if (!send_all(*client)) client.reset();
}

// With `drain`, reads up to the end of the stream. Returns false if the connection is broken.
bool EpollLoop::receive_all(Client& client, bool drain) {
  while (true) {
    const ssize_t bytes = ::recv(client.socket.get(), buffer_.data(), buffer_.size(), 0);
    if (bytes > 0) {
      const auto count = static_cast<std::size_t>(bytes);
      if (!client.connection.receive({buffer_.data(), count})) client.connection.ended = true;
      // A partly filled buffer means no more input (epoll(7)). New bytes raise a new event.
      if (count < buffer_.size() && !drain) return true;
      continue;
    }
    if (bytes < 0 && errno == EAGAIN) return true;
    if (bytes < 0 && errno == EINTR) continue;
    client.connection.ended = true;
    return bytes == 0;  // < 0: reset by the client
  }
}

// Returns false if the connection must be closed.
bool EpollLoop::send_all(Client& client) {
  Connection& connection = client.connection;
  while (true) {
    if (connection.output == nullptr) connection.output = outputs_.take();
    Output& output = *connection.output;
    if (output.bytes() == 0) connection.fill(output);
    if (output.bytes() == 0) {
      outputs_.give_back(std::move(connection.output));
      return !connection.ended && !connection.finished();
    }
    const Sent sent = send_some(client.socket.get(), output);
    if (sent == Sent::part) return true;
    if (sent == Sent::failed || (connection.finished() && output.bytes() == 0)) return false;
  }
}

// Makes one system call, repeated on EINTR.
EpollLoop::Sent EpollLoop::send_some(int socket, Output& output) {
  const std::span<iovec> pieces = output.pieces();
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  std::size_t wanted = 0;
  for (const iovec& piece : pieces) wanted += piece.iov_len;
  ssize_t bytes = 0;
  do
    bytes = pieces.size() == 1 ? ::send(socket, pieces[0].iov_base, pieces[0].iov_len, MSG_NOSIGNAL)
                               : ::sendmsg(socket, &message, MSG_NOSIGNAL);
  while (bytes < 0 && errno == EINTR);
  if (bytes < 0) return errno == EAGAIN ? Sent::part : Sent::failed;
  const auto count = static_cast<std::size_t>(bytes);
  output.sent(count);
  return count < wanted ? Sent::part : Sent::all;
}

}  // namespace h2server::lab::floor
