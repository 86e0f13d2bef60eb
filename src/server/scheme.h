// Scheme: who accepts connections, who serves them, and how one gets to the other.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/result.h"
#include "net/listener.h"
#include "server/context.h"

namespace h2server::server {

struct SchemeOptions {
  net::ListenOptions listen;
  unsigned workers = 1;
  unsigned connections_max = 1;  // at once, with a thread or a process for each
  unsigned queue_size = 1;       // accepted and not taken by a worker yet
  bool refuse_when_full = false;
};

// Used by the thread that owns it.
class Scheme {
 public:
  Scheme() = default;
  Scheme(const Scheme&) = delete;
  Scheme& operator=(const Scheme&) = delete;
  virtual ~Scheme() = default;

  // Listens and starts the threads; the error is a line for the operator.
  virtual Result<void, std::string> start() = 0;
  // Stops accepting and drains; the second call ends what still runs. Once start() succeeded.
  virtual void stop() noexcept = 0;
  // Until everything has ended, after stop(). Returns false if it gave up (see GiveUp), and said
  // what has not ended: then neither the scheme nor what it uses may ever be destroyed.
  [[nodiscard]] virtual bool join() = 0;
  // Whether it can't serve any more, though nobody stopped it. Asked when a child process ended.
  virtual bool failed() { return false; }

  struct Address {
    std::string host;
    std::uint16_t port;
  };
  // Where it listens, once started.
  [[nodiscard]] const std::vector<Address>& addresses() const noexcept { return addresses_; }
  // Lines for the operator: who has how much to do. Any thread, once started.
  [[nodiscard]] virtual std::string report() const = 0;
  // A line for the operator on what was noteworthy, or empty.
  [[nodiscard]] virtual std::string summary() const { return {}; }

 protected:
  // Listens, and notes where if nobody has yet.
  Result<std::vector<base::Fd>, std::string> listen(const net::ListenOptions& options);

 private:
  std::vector<Address> addresses_;
};

// What the command line and the documentation say about a scheme.
struct SchemeKind {
  std::string_view name;
  std::string_view accepts;   // who does
  std::string_view hand_off;  // how a connection gets to who serves it
  // Whoever serves has one connection at a time, and blocks; else many, on an event loop.
  bool blocking;
  // Nobody waits for connections: a thread or a process is made for each.
  bool per_connection;
  bool queues;       // of SchemeOptions::queue_size
  unsigned workers;  // by default
  std::string_view sentence;
  std::unique_ptr<Scheme> (*make)(const SharedContext& shared, const SchemeOptions& options);
};

std::span<const SchemeKind> scheme_kinds() noexcept;
// Null when there is no scheme of that name.
const SchemeKind* find_scheme(std::string_view name) noexcept;
// For people to read.
std::string scheme_table();

// "auto", and those that a scheme may run on.
std::span<const std::string_view> engine_names() noexcept;
// The error is a line for the operator.
Result<void, std::string> check_engine(const SchemeKind& scheme, std::string_view engine);

struct EngineTaken {
  std::string name;
  std::string reason;                           // empty when it was asked for
  io::EngineKind kind = io::EngineKind::epoll;  // where the scheme has an event loop
};
// `wanted` is one of engine_names(). The error is a line for the operator.
Result<EngineTaken, std::string> take_engine(const SchemeKind& scheme, std::string_view wanted);

}  // namespace h2server::server
