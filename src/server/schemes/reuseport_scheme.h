// Every worker has its own listeners on the same port; the kernel distributes the connections.
#pragma once

#include <deque>

#include "server/scheme.h"
#include "server/worker.h"

namespace h2server::server {

class ReuseportScheme final : public Scheme {
 public:
  ReuseportScheme(const SharedContext& shared, const SchemeOptions& options);
  ~ReuseportScheme() override;

  Result<void, std::string> start() override;
  void stop() noexcept override;
  bool join() override;
  std::string report() const override { return report_of(workers_); }
  std::vector<io::Mailbox*> mailboxes() const override { return mailboxes_of(workers_); }

 private:
  const SharedContext& shared_;
  const SchemeOptions options_;
  std::deque<Worker> workers_;
};

}  // namespace h2server::server
