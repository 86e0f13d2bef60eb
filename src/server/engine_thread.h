// A thread with an engine, for a coroutine that is its life.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "h2server/result.h"
#include "h2server/task.h"
#include "io/choose.h"
#include "io/engine.h"
#include "server/give_up.h"

namespace h2server::server {

class EngineThread {
 public:
  EngineThread() = default;
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;
  ~EngineThread();

  // Returns when `life` has begun on the new thread, or can't. The thread ends with it; all else
  // that it started must have ended by then. `give_up`, which outlives the thread, is notified.
  Result<void, std::string> start(io::EngineKind kind, std::function<Task<void>(io::Engine&)> life,
                                  GiveUp& give_up);
  // Any thread, between start() and join().
  void wake() noexcept { engine_->wake(); }
  // Only for what any thread may ask of it.
  [[nodiscard]] io::Engine& engine() noexcept { return *engine_; }
  [[nodiscard]] bool ended() const noexcept { return ended_.load(); }
  void join();
  // The thread runs on. All that it uses, this object too, must never be destroyed.
  void leave_behind() { thread_.detach(); }

 private:
  using Outcome = Result<void, std::string>;

  void thread_main(io::EngineKind kind, const std::function<Task<void>(io::Engine&)>& life,
                   std::promise<Outcome> outcome);

  std::unique_ptr<io::Engine> engine_;  // made by the thread; outlives it, for wake()
  std::thread thread_;
  std::atomic<bool> ended_{false};
};

}  // namespace h2server::server
