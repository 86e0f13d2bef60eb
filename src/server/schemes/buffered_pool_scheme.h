// One thread accepts into a circular buffer, from which the threads of a pool take connections.
#pragma once

#include <optional>

#include "base/bounded_queue.h"
#include "base/counter.h"
#include "server/accept/listener_set.h"
#include "server/schemes/blocking_pool.h"
#include "server/schemes/scheme.h"

namespace h2server::server {

class BufferedPoolScheme final : public Scheme {
 public:
  BufferedPoolScheme(const SharedContext& shared, const SchemeOptions& options);
  ~BufferedPoolScheme() override;

  Result<void, std::string> start() override;
  void stop() noexcept override;
  bool join() override;
  std::string report() const override;
  std::string summary() const override;

 private:
  void accept();

  const SharedContext& shared_;
  const SchemeOptions options_;
  StopSignal stop_;
  std::optional<ListenerSet> listeners_;
  base::BoundedQueue<Accepted> queue_;
  base::Counter refused_;  // because the queue was full
  std::optional<BlockingPool> pool_;
  BlockingThread acceptor_;
};

}  // namespace h2server::server
