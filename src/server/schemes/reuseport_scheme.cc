#include "server/schemes/reuseport_scheme.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "net/socket_address.h"
#include "server/accept/listeners.h"

namespace h2server::server {

namespace {

using Listening = Result<std::vector<ListeningSocket>, std::string>;

// Opens the listeners of one more worker.
Listening open_more(const ListenerOptions& listener, std::size_t number) {
  auto opened = open_listeners(listener, /*reuse_port=*/true);
  if (!opened) return std::unexpected(std::move(opened.error()));
  std::vector<ListeningSocket> sockets;
  for (net::Listener& one : *opened) {
    sockets.push_back({std::move(one.socket), kind_of(listener, number)});
  }
  return sockets;
}

// Shares out the sockets of one address; workers beyond their number get copies.
Result<void, std::string> share_out(std::span<ListeningSocket> sockets,
                                    std::span<std::vector<ListeningSocket>> workers) {
  for (std::size_t i = sockets.size(); i < workers.size(); ++i) {
    const ListeningSocket& one = sockets[i % sockets.size()];
    Result<base::Fd, std::string> copy = net::copy_of(one.socket);
    if (!copy) return std::unexpected(std::move(copy.error()));
    workers[i].push_back({*std::move(copy), one.kind, one.inherited});
  }
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    workers[i % workers.size()].push_back(std::move(sockets[i]));
  }
  return {};
}

// Sockets that were not opened for the workers: of a path, and inherited ones.
Result<void, std::string> share_by_address(std::vector<ListeningSocket> sockets,
                                           std::span<std::vector<ListeningSocket>> workers) {
  const auto address_of = [](const ListeningSocket& one) {
    return net::local_address(one.socket.get());
  };
  for (std::span<ListeningSocket> rest(sockets); !rest.empty();) {
    const auto others = std::ranges::partition(
        rest, [&, address = address_of(rest.front())](const ListeningSocket& one) {
          return address_of(one) == address;
        });
    const Result<void, std::string> shared =
        share_out(rest.first(rest.size() - others.size()), workers);
    if (!shared) return shared;
    rest = others;
  }
  return {};
}

}  // namespace

ReuseportScheme::ReuseportScheme(const SharedContext& shared, const SchemeOptions& options)
    : shared_(shared), options_(options) {}

ReuseportScheme::~ReuseportScheme() = default;

// Opens a listener of that kind for each worker. Only TCP allows several; other sockets are shared,
// and the worker that is the first to accept gets the connection.
Result<void, std::string> ReuseportScheme::listen_for_all(ListenerOptions listener,
                                                          std::size_t number,
                                                          std::vector<Own>& sockets) {
  const bool several = is_tcp(listener);
  const Result<void, std::string> free =
      several ? check_free(listener) : Result<void, std::string>();
  if (!free) return free;
  const std::size_t known = addresses().size();
  Listening first = listen(listener, number, several);
  if (!first) return std::unexpected(std::move(first.error()));
  if (!several) return share_by_address(*std::move(first), sockets);
  listener.port = addresses()[known].port;
  for (Own& own : std::span(sockets).subspan(1)) {
    Listening more = open_more(listener, number);
    if (!more) return std::unexpected(std::move(more.error()));
    std::ranges::move(*more, std::back_inserter(own));
  }
  std::ranges::move(*first, std::back_inserter(sockets.front()));
  return {};
}

Result<void, std::string> ReuseportScheme::start() {
  // Opens all listeners before any worker runs: none accepts while the group still grows.
  std::vector<Own> sockets(options_.workers);
  for (std::size_t number = 0; number < options_.listeners.size(); ++number) {
    const Result<void, std::string> opened =
        listen_for_all(options_.listeners[number], number, sockets);
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

bool ReuseportScheme::retire() noexcept {
  for (Worker& worker : workers_) worker.retire();
  return true;
}

void ReuseportScheme::stop() noexcept {
  for (Worker& worker : workers_) worker.stop();
}

bool ReuseportScheme::join() { return join_all(workers_); }

}  // namespace h2server::server
