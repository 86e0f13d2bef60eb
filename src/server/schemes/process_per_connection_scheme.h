// One process accepts and forks a child for each connection. At the limit it waits until one ends.
//
// The main process keeps the operator's signals and the program's threads. start() forks the
// accepting process; StopSignal stops that process and its children.
#pragma once

#include <sys/types.h>

#include "server/schemes/listening_process.h"
#include "server/schemes/scheme.h"
#include "server/stop_signal.h"

namespace h2server::server {

class ProcessPerConnectionScheme final : public Scheme {
 public:
  ProcessPerConnectionScheme(const SharedContext& shared, const SchemeOptions& options);
  ~ProcessPerConnectionScheme() override;

  Result<void, std::string> start() override;
  void stop() noexcept override { stop_.ask(); }
  bool join() override;
  bool failed() override;
  std::string report() const override;

 private:
  bool wait(int options);

  const SharedContext& shared_;
  const SchemeOptions options_;
  StopSignal stop_;
  ProcessCounters counters_;
  pid_t process_ = -1;
};

}  // namespace h2server::server
