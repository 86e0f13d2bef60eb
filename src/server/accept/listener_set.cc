#include "server/accept/listener_set.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <span>

#include "base/assert.h"
#include "base/clock.h"
#include "io/loop_engine.h"
#include "net/listener.h"

namespace h2server::server {

namespace {

// The first of `watched` is `stop`. Returns nullopt if another one is ready or the time is over.
std::optional<ListenerSet::Ending> wait_for(std::span<pollfd> watched, int ms,
                                            const sigset_t* mask) {
  const timespec time{.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1'000'000L};
  for (;;) {
    const int count = ::ppoll(watched.data(), watched.size(), ms < 0 ? nullptr : &time, mask);
    if (count >= 0) break;
    // ENOMEM: retried. EFAULT and EINVAL would be bugs of the caller.
    ASSERT(errno == EINTR || errno == ENOMEM);
    if (errno == EINTR && mask != nullptr) return ListenerSet::Ending::interrupted;
  }
  if (watched.front().revents != 0) return ListenerSet::Ending::stopped;
  return std::nullopt;
}

}  // namespace

ListenerSet::ListenerSet(std::vector<ListeningSocket> listeners, int stop)
    : listeners_(std::move(listeners)), stop_(stop) {
  watched_.push_back({.fd = stop, .events = POLLIN, .revents = 0});
  for (const ListeningSocket& listener : listeners_) {
    net::bound_accept(listener.socket.get());
    watched_.push_back({.fd = listener.socket.get(), .events = POLLIN, .revents = 0});
  }
}

std::expected<Accepted, ListenerSet::Ending> ListenerSet::accept(const sigset_t* mask) {
  const std::lock_guard turn(mutex_);
  for (;;) {
    std::optional<Ending> ending = wait_for(watched_, -1, mask);
    if (ending) return std::unexpected(*ending);
    Accepted connection = try_listeners();
    if (connection.socket.valid()) return connection;
    const int error = errno;
    if (error == EAGAIN || io::concerns_one_connection(error)) continue;
    if (error == EINVAL) return std::unexpected(Ending::stopped);  // shut down by refuse()
    exhaustion_.report({error, "accept"}, base::monotonic_ms());  // EMFILE, ENFILE, ENOBUFS, ENOMEM
    ending = pause(ResourceExhaustion::pause_ms, mask);
    if (ending) return std::unexpected(*ending);
  }
}

// Accepts from the first ready listener, which then becomes the last. If it returns no connection,
// errno is set.
Accepted ListenerSet::try_listeners() {
  errno = EAGAIN;
  for (std::size_t i = 1; i < watched_.size(); ++i) {
    if (watched_[i].revents == 0) continue;
    const int listener = watched_[i].fd;
    std::rotate(watched_.begin() + 1, watched_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                watched_.end());
    const auto accepting = std::ranges::find(
        listeners_, listener, [](const ListeningSocket& one) { return one.socket.get(); });
    return {base::Fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)), accepting->kind};
  }
  return {};
}

std::optional<ListenerSet::Ending> ListenerSet::pause(int ms, const sigset_t* mask) const {
  pollfd stop{.fd = stop_, .events = POLLIN, .revents = 0};
  return wait_for({&stop, 1}, ms, mask);
}

void ListenerSet::refuse() noexcept {
  // ENOTCONN: shut down before.
  for (const ListeningSocket& listener : listeners_) {
    if (!listener.inherited) ::shutdown(listener.socket.get(), SHUT_RDWR);
  }
}

}  // namespace h2server::server
