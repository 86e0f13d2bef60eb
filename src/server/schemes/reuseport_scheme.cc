#include "server/schemes/reuseport_scheme.h"

namespace h2server::server {

namespace {

// SO_REUSEPORT would silently share the port with another server of the same user. Fails if the
// port is in use.
Result<void, std::string> check_free(net::ListenOptions options) {
  if (options.port == 0) return {};
  options.reuse_port = false;
  const Result<std::vector<net::Listener>, std::string> probe = net::open_listeners(options);
  if (!probe) return std::unexpected(probe.error());
  return {};
}

}  // namespace

ReuseportScheme::ReuseportScheme(const SharedContext& shared, const SchemeOptions& options)
    : shared_(shared), options_(options) {}

ReuseportScheme::~ReuseportScheme() = default;

Result<void, std::string> ReuseportScheme::start() {
  net::ListenOptions options = options_.listen;
  if (Result<void, std::string> free = check_free(options); !free) return free;
  options.reuse_port = true;
  // Opens all listeners before any worker runs: none accepts while the group still grows.
  std::vector<std::vector<base::Fd>> sockets(options_.workers);
  for (std::vector<base::Fd>& own : sockets) {
    Result<std::vector<base::Fd>, std::string> listeners = listen(options);
    if (!listeners) return std::unexpected(listeners.error());
    own = *std::move(listeners);
    options.port = addresses().front().port;
  }
  for (std::vector<base::Fd>& own : sockets) {
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
