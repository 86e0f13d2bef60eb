// EngineThread: a thread that runs one coroutine, its body, on an engine of its own. Or the calling
// thread, which has a loop of its own and calls poll().
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "h2server/result.h"
#include "h2server/task.h"
#include "h2server/task_group.h"
#include "io/choose.h"
#include "io/engine.h"
#include "io/mailbox.h"
#include "io/polled_loop.h"
#include "server/give_up.h"

namespace h2server::server {

class EngineThread {
 public:
  EngineThread() = default;
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;
  ~EngineThread();

  // Returns when the new thread has its engine, or has failed to open one. The thread ends when
  // `body` ends; everything that `body` started must have ended by then. `give_up` is notified of
  // the end and must outlive the thread.
  Result<void, std::string> start(io::EngineWanted wanted,
                                  std::function<Task<void>(io::Engine&)> body, GiveUp& give_up);
  // Runs the body on the calling thread, inside poll(), on an engine of epoll. Other threads may
  // call only wake().
  Result<void, std::string> adopt(const std::function<Task<void>(io::Engine&)>& body);
  // After adopt(): what to watch, see io::PolledLoop, and what to call. -1 and nothing after
  // start().
  [[nodiscard]] int descriptor() const noexcept { return polled_ ? polled_->descriptor() : -1; }
  void poll() {
    if (polled_) polled_->turn();
  }
  // Waits for the end of the body; returns false if it gave up.
  [[nodiscard]] bool wait_for_end(GiveUp& give_up);
  // Any thread, once start() succeeded; also after join().
  void wake() noexcept { engine().wake(); }
  // Only for the engine's thread-safe functions.
  [[nodiscard]] io::Engine& engine() noexcept {
    return polled_ ? static_cast<io::Engine&>(polled_->engine()) : *engine_;
  }
  [[nodiscard]] io::Mailbox& mailbox() const noexcept { return *mailbox_; }
  [[nodiscard]] bool ended() const noexcept { return ended_.load(); }
  void join();
  // Detaches the thread. What it uses, including this object, must never be destroyed.
  void leave_behind() {
    if (thread_.joinable()) thread_.detach();
  }

 private:
  using Outcome = Result<void, std::string>;

  void thread_main(io::EngineWanted wanted, const std::function<Task<void>(io::Engine&)>& body,
                   std::promise<Outcome> outcome);

  std::unique_ptr<io::Engine> engine_;    // made by the thread; outlives it, for wake()
  std::optional<io::PolledLoop> polled_;  // instead, after adopt()
  TaskGroup body_;                        // after adopt()
  std::shared_ptr<io::Mailbox> mailbox_;  // the engine's
  std::thread thread_;
  std::atomic<bool> ended_{false};
};

}  // namespace h2server::server
