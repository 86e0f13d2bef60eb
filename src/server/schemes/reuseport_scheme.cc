#include "server/schemes/reuseport_scheme.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "server/listeners.h"

namespace h2server::server {

namespace {

// SO_REUSEPORT would silently share the port with another server of the same user. Fails if the
// port is in use.
Result<void, std::string> check_free(const ListenerOptions& listener) {
  if (listener.port == 0) return {};
  const auto probe = open_listeners(listener, /*reuse_port=*/false);
  if (!probe) return std::unexpected(probe.error());
  return {};
}

using Listening = Result<std::vector<ListeningSocket>, std::string>;

// Opens the listeners of one more worker.
Listening open_more(const ListenerOptions& listener) {
  auto opened = open_listeners(listener, /*reuse_port=*/true);
  if (!opened) return std::unexpected(std::move(opened.error()));
  std::vector<ListeningSocket> sockets;
  for (net::Listener& one : *opened) {
    sockets.push_back({std::move(one.socket), listener.cleartext});
  }
  return sockets;
}

Listening share(const std::vector<ListeningSocket>& sockets) {
  std::vector<ListeningSocket> copies;
  for (const ListeningSocket& one : sockets) {
    Result<base::Fd, std::string> copy = net::copy_of(one.socket);
    if (!copy) return std::unexpected(std::move(copy.error()));
    copies.push_back({*std::move(copy), one.cleartext, one.inherited});
  }
  return copies;
}

}  // namespace

ReuseportScheme::ReuseportScheme(const SharedContext& shared, const SchemeOptions& options)
    : shared_(shared), options_(options) {}

ReuseportScheme::~ReuseportScheme() = default;

// Opens a listener of that kind for each worker. Only TCP allows several; other sockets are shared,
// and the worker that is the first to accept gets the connection.
Result<void, std::string> ReuseportScheme::listen_for_all(ListenerOptions listener,
                                                          std::vector<Own>& sockets) {
  const bool several = is_tcp(listener);
  const Result<void, std::string> free =
      several ? check_free(listener) : Result<void, std::string>();
  if (!free) return free;
  const std::size_t known = addresses().size();
  Listening first = listen(listener, several);
  if (!first) return std::unexpected(std::move(first.error()));
  listener.port = addresses()[known].port;
  for (Own& own : std::span(sockets).subspan(1)) {
    Listening more = several ? open_more(listener) : share(*first);
    if (!more) return std::unexpected(std::move(more.error()));
    std::ranges::move(*more, std::back_inserter(own));
  }
  std::ranges::move(*first, std::back_inserter(sockets.front()));
  return {};
}

Result<void, std::string> ReuseportScheme::start() {
  // Opens all listeners before any worker runs: none accepts while the group still grows.
  std::vector<Own> sockets(options_.workers);
  for (const ListenerOptions& listener : options_.listeners) {
    const Result<void, std::string> opened = listen_for_all(listener, sockets);
    if (!opened) return opened;
  }
  for (Own& own : sockets) {
    Result<void, std::string> started = workers_.emplace_back(shared_, std::move(own)).start();
    if (started) continue;
    workers_.pop_back();
    stop();
    static_cast<void>(join_all(workers_));  // nothing has given up yet
    return started;
  }
  return {};
}

void ReuseportScheme::stop() noexcept {
  for (Worker& worker : workers_) worker.stop();
}

bool ReuseportScheme::join() { return join_all(workers_); }

}  // namespace h2server::server
