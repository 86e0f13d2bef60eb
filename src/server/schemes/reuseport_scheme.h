// Every worker has its own listeners on the same ports; the kernel distributes the connections.
// Unix sockets and inherited listeners are shared: all idle workers wake for a connection.
#pragma once

#include <deque>
#include <vector>

#include "server/schemes/scheme.h"
#include "server/worker.h"

namespace h2server::server {

class ReuseportScheme final : public Scheme {
 public:
  ReuseportScheme(const SharedContext& shared, const SchemeOptions& options);
  ~ReuseportScheme() override;

  Result<void, std::string> start() override;
  void stop() noexcept override;
  bool retire() noexcept override;
  bool join() override;
  EngineThread* polled() override {
    return shared_.foreign_loop ? &workers_.front().thread() : nullptr;
  }
  std::string report() const override { return report_of(workers_); }
  std::vector<io::Mailbox*> mailboxes() const override { return mailboxes_of(workers_); }
  [[nodiscard]] std::vector<ServerStatus::Worker> workers() const override {
    return status_of(workers_);
  }

 private:
  using Own = std::vector<ListeningSocket>;  // of a worker

  Result<void, std::string> listen_for_all(ListenerOptions listener, std::size_t number,
                                           std::vector<Own>& sockets);

  const SharedContext& shared_;
  const SchemeOptions options_;
  std::deque<Worker> workers_;
};

}  // namespace h2server::server
