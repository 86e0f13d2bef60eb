// One thread accepts and starts a thread for each connection. At the limit it waits until one ends.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "server/accept/listener_set.h"
#include "server/schemes/blocking_thread.h"
#include "server/schemes/scheme.h"
#include "server/stop_signal.h"

namespace h2server::server {

class ThreadPerConnectionScheme final : public Scheme {
 public:
  ThreadPerConnectionScheme(const SharedContext& shared, const SchemeOptions& options);
  ~ThreadPerConnectionScheme() override;

  Result<void, std::string> start() override;
  void stop() noexcept override;
  bool join() override;
  std::string report() const override;

 private:
  // Of a connection that is or may be served; connections_max of them.
  struct Place {
    WorkerCounters counters;
    Accepted connection;
    BlockingThread thread;
  };

  void accept();
  Place* take_place();
  bool try_start(Place& place);
  void serve(Place& place);
  void leave(Place& place);

  const SharedContext& shared_;
  const SchemeOptions options_;
  StopSignal stop_;
  std::optional<ListenerSet> listeners_;
  BlockingThread acceptor_;
  ResourceExhaustion exhaustion_;  // of threads; only for the acceptor

  std::deque<Place> places_;
  std::mutex mutex_;  // for all below
  std::condition_variable changed_;
  std::vector<Place*> free_;
  BlockingThread ended_;  // the last thread that ended; the next one joins it
  bool stopping_ = false;
};

}  // namespace h2server::server
