#include "server/schemes/acceptor_scheme.h"

#include <fmt/format.h>

namespace h2server::server {

AcceptorScheme::AcceptorScheme(const SharedContext& shared, const SchemeOptions& options)
    : shared_(shared), options_(options) {}

AcceptorScheme::~AcceptorScheme() = default;

Result<void, std::string> AcceptorScheme::start() {
  Listening sockets = listen(options_.listeners);
  if (!sockets) return std::unexpected(sockets.error());
  Result<void, std::string> started;
  if (options_.workers == 1) {  // it accepts itself: there is nothing to balance
    started = workers_.emplace_back(shared_, *std::move(sockets)).start();
    if (!started) workers_.clear();
    return started;
  }
  for (unsigned i = 0; i < options_.workers && started; ++i) {
    started = workers_.emplace_back(shared_, std::vector<ListeningSocket>()).start();
    if (!started) workers_.pop_back();
  }
  if (started) {
    acceptor_.emplace(shared_, *std::move(sockets), workers_);
    started = acceptor_->start();
    if (!started) acceptor_.reset();
  }
  if (!started) {
    stop();
    static_cast<void>(join_all(workers_));  // nothing has given up yet
  }
  return started;
}

// The acceptor ends first: a draining worker takes nothing from its inbox.
bool AcceptorScheme::retire() noexcept {
  if (acceptor_) {
    acceptor_->retire();
    acceptor_->join();
  }
  for (Worker& worker : workers_) worker.retire();
  return true;
}

void AcceptorScheme::stop() noexcept {
  if (acceptor_) {
    acceptor_->stop();
    acceptor_->join();
  }
  for (Worker& worker : workers_) worker.stop();
}

bool AcceptorScheme::join() { return join_all(workers_); }

std::string AcceptorScheme::report() const {
  if (!acceptor_) return report_of(workers_);
  const Balancer& balancer = acceptor_->balancer();
  return report_of(workers_) + fmt::format("balancer: {} table hits, {} rewrites, {} times full\n",
                                           balancer.hits(), balancer.rewrites(), balancer.full());
}

}  // namespace h2server::server
