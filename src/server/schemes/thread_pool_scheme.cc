#include "server/schemes/thread_pool_scheme.h"

namespace h2server::server {

ThreadPoolScheme::ThreadPoolScheme(const SharedContext& shared, const SchemeOptions& options)
    : shared_(shared), options_(options) {}

ThreadPoolScheme::~ThreadPoolScheme() = default;

Result<void, std::string> ThreadPoolScheme::start() {
  Listening sockets = listen(options_.listeners, stop_);
  if (!sockets) return std::unexpected(sockets.error());
  listeners_.emplace(*std::move(sockets), stop_.interrupts().drain);
  pool_.emplace(shared_, stop_, [this] { return accept(); });
  Result<void, std::string> started = pool_->start(options_.workers);
  if (!started) {
    stop();
    static_cast<void>(pool_->join());  // nothing has given up yet
  }
  return started;
}

std::optional<Accepted> ThreadPoolScheme::accept() {
  auto connection = listeners_->accept();
  if (!connection) return std::nullopt;
  return *std::move(connection);
}

void ThreadPoolScheme::stop() noexcept {
  stop_.ask();
  listeners_->refuse();  // every thread may be busy
}

bool ThreadPoolScheme::join() { return pool_->join(); }

}  // namespace h2server::server
