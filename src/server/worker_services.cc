#include "server/worker_services.h"

#include <exception>
#include <memory>
#include <utility>

#include "base/log.h"
#include "h2server/file.h"
#include "http/answer.h"
#include "server/context.h"

namespace h2server {

namespace server {

namespace {

constexpr char services_key = 0;  // its address is the key

// A task of its own has nobody who could catch what it throws.
Task<void> guarded(Task<void> task) {
  try {
    co_await task;
  } catch (...) {
    base::log_error("a spawned task failed: {}", http::text_of(std::current_exception()));
  }
}

}  // namespace

WorkerServices& WorkerServices::add_to(io::Engine& engine, const SharedContext& shared) {
  auto services = std::make_unique<WorkerServices>(shared);
  WorkerServices& added = *services;
  engine.set_local(&services_key, std::move(services));
  return added;
}

WorkerServices* WorkerServices::of_this_thread() noexcept {
  const io::Engine* const engine = io::Engine::current();
  if (engine == nullptr) return nullptr;
  return static_cast<WorkerServices*>(engine->local(&services_key));
}

void WorkerServices::set_worker(WorkerContext& worker) noexcept {
  connections_ = &worker.connections;
  memory_guard_.emplace(worker);
}

const file::Folder* WorkerServices::root() const noexcept { return shared_.root.get(); }

io::JobPool& WorkerServices::blocking_calls() const noexcept { return shared_.blocking_calls; }

void WorkerServices::spawn(Task<void> task) {
  if (closed_) return;
  task.inherit_stop(&draining_);
  background_.start(guarded(std::move(task)));
}

}  // namespace server

FileRef load_file_from_filecache(std::string_view path) {
  const auto* const services = server::WorkerServices::of_this_thread();
  const file::Folder* const root = services != nullptr ? services->root() : nullptr;
  return root != nullptr ? root->find_now(path).file : nullptr;
}

}  // namespace h2server
