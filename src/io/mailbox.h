// Mailbox: what other threads hand to an engine's thread. Many posts share one wake-up.
//
// Outlives its engine, so that other threads may post at any time.
#pragma once

#include <atomic>
#include <memory>

#include "h2server/delivery.h"
#include "io/engine.h"

namespace h2server::io {

// Returns the engine whose loop runs the waits of this thread's handlers. Throws std::logic_error
// if the thread runs no handler, and std::system_error if it lacks descriptors for a loop.
[[nodiscard]] Engine& own_loop();

class Mailbox {
 public:
  // Gives the engine a mailbox, on its thread, and returns it. The engine closes it at its end.
  static std::shared_ptr<Mailbox> add_to(Engine& engine);
  // Returns the engine's mailbox, or null. On its thread.
  static std::shared_ptr<Mailbox> of(const Engine& engine) noexcept;

  explicit Mailbox(Engine& engine) noexcept : engine_(engine) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Makes the engine's thread call delivery.arrive(), in the order of the posts of one thread.
  // Returns false, without effect, after close(). Any thread.
  bool post(coro::Delivery& delivery) noexcept;

  // On the engine's thread.
  void deliver() noexcept;
  void close() noexcept;

 private:
  static coro::Delivery* reversed(coro::Delivery* newest) noexcept;

  Engine& engine_;
  std::atomic<coro::Delivery*> newest_{nullptr};  // or the mark of a closed mailbox
  std::atomic<unsigned> waking_{0};               // threads that may use engine_
};

}  // namespace h2server::io
