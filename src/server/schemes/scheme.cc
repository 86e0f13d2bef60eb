#include "server/schemes/scheme.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/assert.h"
#include "server/accept/listeners.h"
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

constexpr unsigned pool_threads = 64;  // each serves one connection at a time

constexpr SchemeKind kinds[] = {
    {.scheme = ServerScheme::reuseport,
     .name = "reuseport",
     .blocking = false,
     .per_connection = false,
     .queues = false,
     .workers = 1,
     .make = make<ReuseportScheme>},
    {.scheme = ServerScheme::acceptor,
     .name = "acceptor",
     .blocking = false,
     .per_connection = false,
     .queues = false,
     .workers = 1,
     .make = make<AcceptorScheme>},
    {.scheme = ServerScheme::thread_pool,
     .name = "thread-pool",
     .blocking = true,
     .per_connection = false,
     .queues = false,
     .workers = pool_threads,
     .make = make<ThreadPoolScheme>},
    {.scheme = ServerScheme::buffered_pool,
     .name = "buffered-pool",
     .blocking = true,
     .per_connection = false,
     .queues = true,
     .workers = pool_threads,
     .make = make<BufferedPoolScheme>},
    {.scheme = ServerScheme::thread_per_connection,
     .name = "thread-per-connection",
     .blocking = true,
     .per_connection = true,
     .queues = false,
     .workers = 0,
     .make = make<ThreadPerConnectionScheme>},
    {.scheme = ServerScheme::process_per_connection,
     .name = "process-per-connection",
     .blocking = true,
     .per_connection = true,
     .queues = false,
     .workers = 0,
     .make = make<ProcessPerConnectionScheme>},
};

}  // namespace

Scheme::Listening Scheme::listen(const ListenerOptions& listener, std::size_t number,
                                 bool reuse_port) {
  Result<std::vector<net::Listener>, std::string> opened = open_listeners(listener, reuse_port);
  if (!opened) return std::unexpected(std::move(opened.error()));
  std::vector<ListeningSocket> sockets;
  const auto first = static_cast<std::ptrdiff_t>(addresses_.size());
  for (net::Listener& one : *opened) {
    // Sockets of one port have one address.
    if (std::ranges::find(addresses_.begin() + first, addresses_.end(), one.address) ==
        addresses_.end()) {
      addresses_.push_back(std::move(one.address));
    }
    socket_files_.push_back(std::move(one.file));
    sockets.push_back({std::move(one.socket), kind_of(listener, number),
                       /*inherited=*/!listener.descriptors.empty()});
  }
  return sockets;
}

Scheme::Listening Scheme::listen(const std::vector<ListenerOptions>& listeners) {
  std::vector<ListeningSocket> all;
  for (std::size_t number = 0; number < listeners.size(); ++number) {
    Listening sockets = listen(listeners[number], number, false);
    if (!sockets) return sockets;
    std::ranges::move(*sockets, std::back_inserter(all));
  }
  return all;
}

Scheme::Listening Scheme::listen(const std::vector<ListenerOptions>& listeners, StopSignal& stop) {
  Listening sockets = listen(listeners);
  if (!sockets) return sockets;
  Result<StopSignal> signal = StopSignal::open();
  if (!signal) return std::unexpected(signal.error().message());
  stop = *std::move(signal);
  return sockets;
}

std::span<const SchemeKind> scheme_kinds() noexcept { return kinds; }

const SchemeKind& kind_of(ServerScheme scheme) noexcept {
  const auto* const found = std::ranges::find(kinds, scheme, &SchemeKind::scheme);
  ASSERT(found != std::end(kinds));
  return *found;
}

std::string_view name_of(IoEngine engine) noexcept {
  switch (engine) {
    case IoEngine::automatic:
      return "auto";
    case IoEngine::epoll:
      return "epoll";
    case IoEngine::io_uring:
      return "io_uring";
    case IoEngine::blocking:
      break;
  }
  return "blocking";
}

bool runs_on(const SchemeKind& scheme, IoEngine engine) noexcept {
  return engine == IoEngine::automatic || (engine == IoEngine::blocking) == scheme.blocking;
}

Result<EngineTaken, std::string> take_engine(const SchemeKind& scheme, IoEngine wanted) {
  if (!runs_on(scheme, wanted)) {
    return std::unexpected(fmt::format("the scheme {} does not run on {}: its engines are {}",
                                       scheme.name, name_of(wanted),
                                       scheme.blocking ? "blocking" : "epoll, io_uring"));
  }
  if (scheme.blocking) {
    return EngineTaken{
        .name = "blocking",
        .reason = wanted == IoEngine::automatic ? "the only one of this scheme" : ""};
  }
  Result<io::EngineChoice, std::string> choice = io::choose_engine(wanted);
  if (!choice) return std::unexpected(choice.error());
  return EngineTaken{.name = std::string(io::name_of(choice->engine.kind)),
                     .reason = std::move(choice->reason),
                     .wanted = choice->engine};
}

}  // namespace h2server::server
