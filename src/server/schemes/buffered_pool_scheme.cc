#include "server/schemes/buffered_pool_scheme.h"

#include <fmt/format.h>

namespace h2server::server {

BufferedPoolScheme::BufferedPoolScheme(const SharedContext& shared, const SchemeOptions& options)
    : shared_(shared), options_(options), queue_(options.queue_size) {}

BufferedPoolScheme::~BufferedPoolScheme() = default;

Result<void, std::string> BufferedPoolScheme::start() {
  Listening sockets = listen(options_.listeners, stop_);
  if (!sockets) return std::unexpected(sockets.error());
  listeners_.emplace(*std::move(sockets), stop_.interrupts().drain);
  pool_.emplace(shared_, stop_, [this] { return queue_.pop(); });
  Result<void, std::string> started = pool_->start(options_.workers);
  if (started) {
    Result<BlockingThread> thread = BlockingThread::start([this] { accept(); });
    if (thread) {
      acceptor_ = *std::move(thread);
    } else {
      started = std::unexpected("can't start a thread: " + thread.error().message());
    }
  }
  if (!started) {
    stop();
    acceptor_.join();
    static_cast<void>(pool_->join());  // nothing has given up yet
  }
  return started;
}

void BufferedPoolScheme::accept() {
  const auto put = options_.refuse_when_full ? &base::BoundedQueue<Accepted>::try_push
                                             : &base::BoundedQueue<Accepted>::push;
  while (auto connection = listeners_->accept()) {
    const bool taken = (queue_.*put)(*connection);
    if (!taken && !queue_.closed()) refused_.up();
  }
}

void BufferedPoolScheme::stop() noexcept {
  // The queue closes first: a thread that noticed the stop must not take another connection.
  queue_.close();
  stop_.ask();
  listeners_->refuse();
}

bool BufferedPoolScheme::join() {
  acceptor_.join();
  return pool_->join();
}

std::string BufferedPoolScheme::report() const {
  return pool_->report() +
         fmt::format("queue: {} waiting, {} refused\n", queue_.size(), refused_.get());
}

std::string BufferedPoolScheme::summary() const {
  if (refused_.get() == 0) return {};
  return fmt::format("{} connections were closed because the queue was full", refused_.get());
}

}  // namespace h2server::server
