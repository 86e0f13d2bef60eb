// Every thread of a pool accepts from the shared listeners and serves one connection at a time.
#pragma once

#include <optional>

#include "server/accept/listener_set.h"
#include "server/schemes/blocking_pool.h"
#include "server/schemes/scheme.h"

namespace h2server::server {

class ThreadPoolScheme final : public Scheme {
 public:
  ThreadPoolScheme(const SharedContext& shared, const SchemeOptions& options);
  ~ThreadPoolScheme() override;

  Result<void, std::string> start() override;
  void stop() noexcept override;
  bool join() override;
  std::string report() const override { return pool_->report(); }

 private:
  std::optional<Accepted> accept();

  const SharedContext& shared_;
  const SchemeOptions options_;
  StopSignal stop_;
  std::optional<ListenerSet> listeners_;
  std::optional<BlockingPool> pool_;
};

}  // namespace h2server::server
