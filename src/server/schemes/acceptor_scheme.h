// One thread accepts, a balancer chooses a worker, and the worker takes from its inbox.
#pragma once

#include <deque>
#include <optional>

#include "server/accept/acceptor.h"
#include "server/schemes/scheme.h"
#include "server/worker.h"

namespace h2server::server {

class AcceptorScheme final : public Scheme {
 public:
  AcceptorScheme(const SharedContext& shared, const SchemeOptions& options);
  ~AcceptorScheme() override;

  Result<void, std::string> start() override;
  void stop() noexcept override;
  bool retire() noexcept override;
  bool join() override;
  std::string report() const override;
  std::vector<io::Mailbox*> mailboxes() const override { return mailboxes_of(workers_); }
  [[nodiscard]] std::vector<ServerStatus::Worker> workers() const override {
    return status_of(workers_);
  }

 private:
  const SharedContext& shared_;
  const SchemeOptions options_;
  std::deque<Worker> workers_;
  std::optional<Acceptor> acceptor_;
};

}  // namespace h2server::server
