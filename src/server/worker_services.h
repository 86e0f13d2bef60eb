// WorkerServices: what the public functions that handlers call find on their worker's thread.
#pragma once

#include <optional>

#include "file/folder.h"
#include "h2server/stop.h"
#include "h2server/task_group.h"
#include "http/drain_list.h"
#include "io/engine.h"
#include "io/job_pool.h"
#include "server/memory_guard.h"

namespace h2server::server {

struct SharedContext;
struct WorkerContext;

// Used on the worker's thread.
class WorkerServices final : public io::EngineLocal {
 public:
  // Gives the engine of a worker its services. `shared` must outlive the engine.
  static WorkerServices& add_to(io::Engine& engine, const SharedContext& shared);
  // Returns those of the calling thread, or null.
  static WorkerServices* of_this_thread() noexcept;

  explicit WorkerServices(const SharedContext& shared) noexcept : shared_(shared) {}

  void woken() override {
    if (memory_guard_) memory_guard_->woken();
  }
  void relieve() override {
    if (memory_guard_) memory_guard_->relieve();
  }

  // The connections of this worker; null unless it has an event loop of its own.
  [[nodiscard]] const http::DrainList* connections() const noexcept { return connections_; }
  void set_worker(WorkerContext& worker) noexcept;
  // It is about to end.
  void forget_worker() noexcept {
    connections_ = nullptr;
    memory_guard_.reset();
  }

  [[nodiscard]] const file::Folder* root() const noexcept;
  [[nodiscard]] io::JobPool& blocking_calls() const noexcept;

  // Starts a task that belongs to no exchange. Its token stops when the server begins to stop.
  // Dropped after close().
  void spawn(Task<void> task);
  // All tasks have ended, and no more shall begin.
  void close() noexcept { closed_ = true; }
  // Stops when the server begins to stop.
  [[nodiscard]] coro::StopState& draining() noexcept { return draining_; }
  [[nodiscard]] const coro::StopState& draining() const noexcept { return draining_; }
  // Stops the token of all such tasks, and of those that are spawned later.
  void drain() noexcept { draining_.stop(StopReason::server_stops); }
  [[nodiscard]] TaskGroup& background() noexcept { return background_; }

 private:
  const SharedContext& shared_;
  const http::DrainList* connections_ = nullptr;
  std::optional<MemoryGuard> memory_guard_;
  coro::StopState draining_;
  TaskGroup background_;
  bool closed_ = false;
};

}  // namespace h2server::server
