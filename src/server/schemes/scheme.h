// Scheme: which threads or processes accept connections, which serve them, and how connections are
// handed over.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/connection_info.h"
#include "h2server/options.h"
#include "h2server/result.h"
#include "h2server/status.h"
#include "net/socket_file.h"
#include "server/accept/accepted.h"
#include "server/context.h"
#include "server/engine_thread.h"
#include "server/stop_signal.h"

namespace h2server::server {

struct SchemeOptions {
  std::vector<ListenerOptions> listeners;  // at least one
  unsigned workers = 1;
  unsigned connections_max = 1;  // open at once; only with a thread or a process for each
  unsigned queue_size = 1;       // connections that wait for a worker
  bool refuse_when_full = false;
};

// For the thread that owns it. Another may call stop() during join(), one call at a time.
class Scheme {
 public:
  Scheme() = default;
  Scheme(const Scheme&) = delete;
  Scheme& operator=(const Scheme&) = delete;
  virtual ~Scheme() = default;

  // Listens and starts the threads; the error is a line for the operator.
  virtual Result<void, std::string> start() = 0;
  // Stops accepting and drains; a second call cancels what still runs. Once started.
  virtual void stop() noexcept = 0;
  // Stops accepting and lets connections end in their time, see Server::retire(). Before stop().
  // Returns false if the scheme can't do it.
  virtual bool retire() noexcept { return false; }
  // Waits until everything has ended after stop(). Returns false if it gave up (see GiveUp) and
  // logged what still runs: the scheme and what it uses must then never be destroyed.
  [[nodiscard]] virtual bool join() = 0;
  // The worker that a foreign loop drives, or null.
  [[nodiscard]] virtual EngineThread* polled() { return nullptr; }
  // Returns true if it cannot serve any more without having been stopped. Called after SIGCHLD.
  virtual bool failed() { return false; }

  // The mailboxes of the workers; none if they have no event loops. Valid once started.
  [[nodiscard]] virtual std::vector<io::Mailbox*> mailboxes() const { return {}; }

  // Where it listens, in the order of the options. Valid once started.
  [[nodiscard]] const std::vector<Address>& addresses() const noexcept { return addresses_; }
  // Removes the files of its Unix sockets. Called once it was joined.
  void remove_socket_files() noexcept { socket_files_.clear(); }
  // Lines for the operator on the load. Any thread, once started.
  [[nodiscard]] virtual std::string report() const = 0;
  // The numbers of its workers; none if it blocks. Any thread, once started.
  [[nodiscard]] virtual std::vector<ServerStatus::Worker> workers() const { return {}; }
  // A line for the operator on what was noteworthy, or empty.
  [[nodiscard]] virtual std::string summary() const { return {}; }

 protected:
  using Listening = Result<std::vector<ListeningSocket>, std::string>;

  // Opens the listeners and notes their addresses.
  Listening listen(const std::vector<ListenerOptions>& listeners);
  // The same for a scheme that blocks: opens the signal, too, by which it is stopped.
  Listening listen(const std::vector<ListenerOptions>& listeners, StopSignal& stop);
  // The same for one of the options, with its number. `reuse_port` is for TCP only.
  Listening listen(const ListenerOptions& listener, std::size_t number, bool reuse_port);

 private:
  std::vector<Address> addresses_;
  std::vector<net::SocketFile> socket_files_;
};

struct SchemeKind {
  ServerScheme scheme;
  std::string_view name;
  // A worker serves one connection at a time by blocking calls; otherwise many, on an event loop.
  bool blocking;
  // A thread or a process is made for each connection.
  bool per_connection;
  bool queues;       // uses SchemeOptions::queue_size
  unsigned workers;  // by default
  std::unique_ptr<Scheme> (*make)(const SharedContext& shared, const SchemeOptions& options);
};

// In the order of ServerScheme.
std::span<const SchemeKind> scheme_kinds() noexcept;
// Aborts on an invalid value.
const SchemeKind& kind_of(ServerScheme scheme) noexcept;

std::string_view name_of(IoEngine engine) noexcept;
bool runs_on(const SchemeKind& scheme, IoEngine engine) noexcept;

struct EngineTaken {
  std::string name;
  std::string reason;            // empty if it was asked for
  io::EngineWanted wanted = {};  // only if the scheme has an event loop
};
// Chooses the engine. The error is a line for the operator.
Result<EngineTaken, std::string> take_engine(const SchemeKind& scheme, IoEngine wanted);

}  // namespace h2server::server
