#include "server/scheme.h"

#include <fmt/format.h>

#include <algorithm>

#include "server/schemes/acceptor_scheme.h"
#include "server/schemes/buffered_pool_scheme.h"
#include "server/schemes/process_per_connection_scheme.h"
#include "server/schemes/reuseport_scheme.h"
#include "server/schemes/thread_per_connection_scheme.h"
#include "server/schemes/thread_pool_scheme.h"

namespace h2server::server {

namespace {

template <class T>
std::unique_ptr<Scheme> make(const SharedContext& shared, const SchemeOptions& options) {
  return std::make_unique<T>(shared, options);
}

constexpr unsigned pool_threads = 64;  // each has one connection at a time

constexpr SchemeKind kinds[] = {
    {.name = "acceptor",
     .accepts = "one thread",
     .hand_off = "a balancer and a queue for each worker",
     .blocking = false,
     .per_connection = false,
     .queues = false,
     .workers = 1,
     .sentence = "A worker has many connections, which it was given when its queue had room.",
     .make = make<AcceptorScheme>},
    {.name = "reuseport",
     .accepts = "every worker",
     .hand_off = "none: the kernel spreads",
     .blocking = false,
     .per_connection = false,
     .queues = false,
     .workers = 1,
     .sentence = "A worker has many connections, from a listener of its own.",
     .make = make<ReuseportScheme>},
    {.name = "thread-pool",
     .accepts = "every thread in turn",
     .hand_off = "none",
     .blocking = true,
     .per_connection = false,
     .queues = false,
     .workers = pool_threads,
     .sentence = "A thread accepts a connection, serves it to its end, and accepts the next.",
     .make = make<ThreadPoolScheme>},
    {.name = "buffered-pool",
     .accepts = "one thread",
     .hand_off = "a circular buffer for all threads",
     .blocking = true,
     .per_connection = false,
     .queues = true,
     .workers = pool_threads,
     .sentence = "A thread takes a connection from the buffer and serves it to its end.",
     .make = make<BufferedPoolScheme>},
    {.name = "thread-per-connection",
     .accepts = "one thread",
     .hand_off = "a new thread",
     .blocking = true,
     .per_connection = true,
     .queues = false,
     .workers = 0,
     .sentence = "A thread is started for a connection and ends with it.",
     .make = make<ThreadPerConnectionScheme>},
    {.name = "process-per-connection",
     .accepts = "one process",
     .hand_off = "fork",
     .blocking = true,
     .per_connection = true,
     .queues = false,
     .workers = 0,
     .sentence = "A process is forked for a connection; when it crashes, the others don't notice.",
     .make = make<ProcessPerConnectionScheme>},
};

constexpr std::string_view engines[] = {"auto", "epoll", "io_uring", "blocking"};

std::string_view engines_of(const SchemeKind& kind) {
  return kind.blocking ? "blocking" : "epoll, io_uring";
}

}  // namespace

Result<std::vector<base::Fd>, std::string> Scheme::listen(const net::ListenOptions& options) {
  Result<std::vector<net::Listener>, std::string> listeners = net::open_listeners(options);
  if (!listeners) return std::unexpected(listeners.error());
  std::vector<base::Fd> sockets;
  const bool first = addresses_.empty();
  for (net::Listener& listener : *listeners) {
    if (first) addresses_.push_back({listener.host, listener.port});
    sockets.push_back(std::move(listener.socket));
  }
  return sockets;
}

std::span<const SchemeKind> scheme_kinds() noexcept { return kinds; }

const SchemeKind* find_scheme(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(kinds, name, &SchemeKind::name);
  return found == std::end(kinds) ? nullptr : found;
}

std::string scheme_table() {
  std::string table = fmt::format("{:24}{:17}{:21}{}\n", "--scheme", "--io", "who accepts",
                                  "how a connection is handed on");
  for (const SchemeKind& kind : kinds) {
    table += fmt::format("{:24}{:17}{:21}{}\n    {}\n", kind.name, engines_of(kind), kind.accepts,
                         kind.hand_off, kind.sentence);
  }
  return table;
}

std::span<const std::string_view> engine_names() noexcept { return engines; }

Result<void, std::string> check_engine(const SchemeKind& scheme, std::string_view engine) {
  if (std::ranges::find(engines, engine) == std::end(engines)) {
    return std::unexpected(fmt::format("there is no I/O engine {}", engine));
  }
  if (engine == "auto" || (engine == "blocking") == scheme.blocking) return {};
  return std::unexpected(fmt::format("the scheme {} does not run on {}: its engines are {}",
                                     scheme.name, engine, engines_of(scheme)));
}

Result<EngineTaken, std::string> take_engine(const SchemeKind& scheme, std::string_view wanted) {
  const Result<void, std::string> possible = check_engine(scheme, wanted);
  if (!possible) return std::unexpected(possible.error());
  if (scheme.blocking) {
    return EngineTaken{.name = "blocking",
                       .reason = wanted == "auto" ? "the only one of this scheme" : ""};
  }
  Result<io::EngineChoice, std::string> choice = io::choose_engine(wanted);
  if (!choice) return std::unexpected(choice.error());
  return EngineTaken{.name = std::string(io::name_of(choice->kind)),
                     .reason = std::move(choice->reason),
                     .kind = choice->kind};
}

}  // namespace h2server::server
