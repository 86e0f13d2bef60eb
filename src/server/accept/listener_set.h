// ListenerSet: listeners that threads accept from by blocking calls, one thread at a time.
//
// One thread polls the listeners, the others wait for a mutex. So a connection wakes only one
// thread; there may be several listeners; and a waiting thread takes no descriptor, unlike one that
// blocks in accept(2). Passing the mutex on costs about 5 us of processor time a connection, a
// tenth of one with a single request.
#pragma once

#include <poll.h>

#include <csignal>
#include <cstdint>
#include <expected>
#include <mutex>
#include <optional>
#include <vector>

#include "server/accept/accept_loop.h"
#include "server/accept/accepted.h"

namespace h2server::server {

class ListenerSet {
 public:
  enum class Ending : std::uint8_t { stopped, interrupted /* by a signal */ };

  // The listeners are non-blocking. Waits end when `stop` is readable. `stop` outlives this.
  ListenerSet(std::vector<ListeningSocket> listeners, int stop);

  // Waits for a connection. Any thread. A signal that `mask` unblocks ends the wait.
  std::expected<Accepted, Ending> accept(const sigset_t* mask = nullptr);
  // Waits for `ms` (-1: no limit) without accepting. Returns nullopt if the time is over.
  std::optional<Ending> pause(int ms, const sigset_t* mask = nullptr) const;
  // Refuses connections from now on, except on inherited listeners, whose backlog is for another
  // server. Called once `stop` is readable. Any thread.
  void refuse() noexcept;
  // Closes the listeners in a forked process that does not accept.
  void close() noexcept { listeners_.clear(); }

 private:
  Accepted try_listeners();

  std::vector<ListeningSocket> listeners_;
  const int stop_;
  std::mutex mutex_;             // for all below
  std::vector<pollfd> watched_;  // stop_, then the listeners
  ResourceExhaustion exhaustion_;
};

}  // namespace h2server::server
