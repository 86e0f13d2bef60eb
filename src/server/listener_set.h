// ListenerSet: listeners that threads accept from by blocking calls, one thread at a time.
//
// One thread waits for a connection, the others for their turn. So a connection wakes one thread,
// however many there are; there may be several listeners; and a thread that waits takes no
// descriptor, as accept(2) would as soon as it is called. Handing the turn on costs about 5 us of
// processor time a connection, a tenth of one that has a single request.
#pragma once

#include <poll.h>

#include <csignal>
#include <cstdint>
#include <expected>
#include <mutex>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "server/shortage.h"

namespace h2server::server {

class ListenerSet {
 public:
  enum class Ending : std::uint8_t { stopped, interrupted /* by a signal */ };

  // The listeners don't block. Every wait ends when `stop` is readable; it outlives this.
  ListenerSet(std::vector<base::Fd> listeners, int stop);

  // The next connection. Any thread. With a mask, a signal that it lets through ends the wait.
  std::expected<base::Fd, Ending> accept(const sigset_t* mask = nullptr);
  // Waits for `ms` (-1: for ever) and leaves connections to wait. Nullopt: the time is over.
  std::optional<Ending> pause(int ms, const sigset_t* mask = nullptr) const;
  // After `stop` was made readable: from now on connections are refused. Any thread.
  void refuse() noexcept;
  // For a process that was forked and does not accept.
  void close() noexcept { listeners_.clear(); }

 private:
  base::Fd try_listeners();

  std::vector<base::Fd> listeners_;
  const int stop_;
  std::mutex mutex_;             // for all below
  std::vector<pollfd> watched_;  // stop_, then the listeners
  Shortage shortage_;
};

}  // namespace h2server::server
