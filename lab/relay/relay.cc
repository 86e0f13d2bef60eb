#include "relay/relay.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "net/listener.h"

namespace h2server::lab::relay {

namespace {

constexpr std::size_t read_bytes = 64 * 1024;
constexpr std::size_t parts_max = 64;  // packets in one system call

// Bytes in flight without a bandwidth limit: 50 ms at 10 Gbit/s, so that the line does not limit.
constexpr std::size_t bytes_max_of_wide_line = 64 * 1024 * 1024;
// With a limit: the line's capacity plus a router's queue, or a minimum for slow lines.
constexpr double queue_factor = 2;
constexpr std::size_t bytes_max_least = 1024 * 1024;

// Event keys of other descriptors. A connection's key is its number times two plus the side.
constexpr std::uint64_t listener_key = 0;
constexpr std::uint64_t stop_key = 1;

constexpr std::uint32_t connection_events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

std::int64_t now_ns() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);  // fails only for an invalid clock
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

std::string explain(const char* what, int error) {
  return fmt::format("{}: {}", what, std::strerror(error));
}

}  // namespace

LineOptions line_of(const RelayOptions& options) noexcept {
  LineOptions line{.delay_ns = options.round_trip_ns / 2,
                   .bytes_per_second = options.bytes_per_second,
                   .bytes_max = bytes_max_of_wide_line};
  if (options.bytes_per_second > 0) {
    const double seconds = static_cast<double>(options.round_trip_ns) / 1e9;
    line.bytes_max = std::max(bytes_max_least, static_cast<std::size_t>(options.bytes_per_second *
                                                                        seconds * queue_factor));
  }
  return line;
}

// --- the loop ---------------------------------------------------------------------------------

Result<std::unique_ptr<Relay>, std::string> Relay::open(const RelayOptions& options, int stop) {
  auto opened = net::open_listeners({.host = "127.0.0.1", .port = options.port});
  if (!opened) return std::unexpected(opened.error());
  auto relay = std::make_unique<Relay>(options);
  relay->listener_ = std::move(opened->front().socket);
  relay->port_ = opened->front().address.port;
  relay->set_ = base::Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!relay->watch(relay->listener_.get(), listener_key, EPOLLIN) ||
      !relay->watch(stop, stop_key, EPOLLIN)) {
    return std::unexpected(explain("epoll", errno));
  }
  return relay;
}

Relay::Relay(const RelayOptions& options)
    : options_(options), line_(line_of(options)), buffer_(read_bytes) {}

bool Relay::watch(int descriptor, std::uint64_t key, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  return ::epoll_ctl(set_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

Result<void, std::string> Relay::run() {
  while (!stopping_) {
    if (Result<void, std::string> done = wait(); !done) return done;
    run_timers();
  }
  return {};
}

Result<void, std::string> Relay::wait() {
  timespec timeout{};
  if (!timers_.empty()) {
    const std::int64_t left = std::max<std::int64_t>(0, timers_.top().due_ns - now_ns());
    timeout = {.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  }
  std::array<epoll_event, 256> events{};
  // epoll_pwait2() has a timeout in nanoseconds, epoll_wait() in milliseconds.
  const int count = ::epoll_pwait2(set_.get(), events.data(), static_cast<int>(events.size()),
                                   timers_.empty() ? nullptr : &timeout, nullptr);
  if (count < 0 && errno != EINTR) return std::unexpected(explain("epoll_pwait2", errno));
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.u64 == stop_key) {
      stopping_ = true;
    } else if (event.data.u64 == listener_key) {
      if (Result<void, std::string> done = accept_all(); !done) return done;
    } else if (const auto found = connections_.find(event.data.u64 / 2);
               found != connections_.end()) {
      Connection& connection = *found->second;
      End& end = connection.ends[event.data.u64 % 2];
      end.readable |= (event.events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP)) != 0;
      end.writable |= (event.events & EPOLLOUT) != 0;
      connection.broken |= (event.events & EPOLLERR) != 0;
      serve(found->first);
    }
  }
  return {};
}

void Relay::run_timers() {
  const std::int64_t now = now_ns();
  while (!timers_.empty() && timers_.top().due_ns <= now) {
    const Timer timer = timers_.top();
    timers_.pop();
    const auto found = connections_.find(timer.number);
    // Ignores a timer that an earlier one has replaced.
    if (found == connections_.end() || found->second->awaited_ns != timer.due_ns) continue;
    found->second->awaited_ns = 0;
    serve(timer.number);
  }
}

Result<void, std::string> Relay::accept_all() {
  while (true) {
    base::Fd accepted(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!accepted.valid()) {
      if (errno == EAGAIN) return {};
      if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
      return std::unexpected(explain("accept (too many connections for ulimit -n?)", errno));
    }
    net::set_no_delay(accepted.get());
    const std::uint64_t number = next_number_++;
    auto made = std::make_unique<Connection>(number, now_ns(), line_);
    if (!watch(accepted.get(), number * 2 + client, connection_events)) continue;  // no memory
    made->ends[client].socket = std::move(accepted);
    connections_.emplace(number, std::move(made));
    serve(number);
  }
}

// --- a connection -----------------------------------------------------------------------------

void Relay::serve(std::uint64_t number) {
  Connection& connection = *connections_.at(number);
  const std::int64_t due_ns = connection.opened_ns + options_.round_trip_ns * 3 / 2;
  const bool due = !connection.ends[target].socket.valid() && now_ns() >= due_ns;
  if (connection.broken || (due && !connect(connection)) || !pass(connection)) {
    reset(connection);
    connections_.erase(number);
    return;
  }
  if (connection.all_passed[client] && connection.all_passed[target]) {
    connections_.erase(number);
    return;
  }
  set_timer(connection);
}

// Connects to the target. An event reports success or failure.
bool Relay::connect(Connection& connection) {
  base::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return false;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(options_.target_port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno != EINPROGRESS && errno != EINTR) {
    return false;
  }
  net::set_no_delay(socket.get());
  if (!watch(socket.get(), connection.number * 2 + target, connection_events)) return false;
  connection.ends[target].socket = std::move(socket);
  return true;
}

// Passes bytes in both directions until neither makes progress. Returns false if an end is broken.
bool Relay::pass(Connection& connection) {
  bool progress = true;
  while (progress) {
    progress = false;
    for (const Side side : {client, target}) {
      if (!read_from(connection, side, progress)) return false;
      if (!write_from(connection, side, progress)) return false;
    }
  }
  return true;
}

bool Relay::read_from(Connection& connection, Side side, bool& progress) {
  End& end = connection.ends[side];
  DelayLine& line = connection.from[side];
  while (end.readable && !connection.all_read[side] && line.room() > 0) {
    const std::size_t most = std::min(buffer_.size(), line.room());
    const ssize_t bytes = ::recv(end.socket.get(), buffer_.data(), most, 0);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && errno != EAGAIN) return false;
    if (bytes < 0) {
      end.readable = false;
      return true;
    }
    progress = true;
    // The client could not have sent data before the SYN-ACK.
    const std::int64_t first = connection.opened_ns + options_.round_trip_ns;
    const std::int64_t said_ns = side == client ? std::max(now_ns(), first) : now_ns();
    if (bytes > 0) {
      line.put(said_ns, {buffer_.data(), static_cast<std::size_t>(bytes)});
    } else {
      line.put_end(said_ns);
      connection.all_read[side] = true;
    }
  }
  return true;
}

// Writes what has arrived from `side` to the other end.
bool Relay::write_from(Connection& connection, Side side, bool& progress) {
  End& end = connection.ends[side == client ? target : client];
  DelayLine& line = connection.from[side];
  const std::int64_t now = now_ns();
  while (end.writable) {
    std::array<iovec, parts_max> pieces{};
    msghdr message{};
    message.msg_iov = pieces.data();
    for (const std::string_view part : line.arrived(now, parts_max)) {
      pieces[message.msg_iovlen++] = {.iov_base = const_cast<char*>(part.data()),
                                      .iov_len = part.size()};
    }
    if (message.msg_iovlen == 0) break;
    const ssize_t bytes = ::sendmsg(end.socket.get(), &message, MSG_NOSIGNAL);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && errno != EAGAIN) return false;
    if (bytes < 0) {
      end.writable = false;
      break;
    }
    progress = true;
    line.take(static_cast<std::size_t>(bytes));
  }
  if (end.writable && !connection.all_passed[side] && line.end_arrived(now)) {
    ::shutdown(end.socket.get(), SHUT_WR);  // failure is harmless: the other end has closed
    connection.all_passed[side] = true;
  }
  return true;
}

// Sets the timer for the next delivery. epoll reports when an end that was full becomes writable.
void Relay::set_timer(Connection& connection) {
  std::int64_t due_ns = 0;
  const auto consider = [&due_ns](std::int64_t time) {
    if (due_ns == 0 || time < due_ns) due_ns = time;
  };
  if (!connection.ends[target].socket.valid()) {
    consider(connection.opened_ns + options_.round_trip_ns * 3 / 2);
  }
  for (const Side side : {client, target}) {
    const End& end = connection.ends[side == client ? target : client];
    const std::optional<std::int64_t> next = connection.from[side].next_ns();
    if (next && end.writable && !connection.all_passed[side]) consider(*next);
  }
  if (due_ns == 0 || due_ns == connection.awaited_ns) return;
  connection.awaited_ns = due_ns;
  timers_.push({.due_ns = due_ns, .number = connection.number});
}

// Makes close() send RST to both ends.
void Relay::reset(Connection& connection) {
  constexpr linger at_once{.l_onoff = 1, .l_linger = 0};
  for (const End& end : connection.ends) {
    if (!end.socket.valid()) continue;
    ::setsockopt(end.socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
}

}  // namespace h2server::lab::relay
