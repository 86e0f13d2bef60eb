// Engine: does I/O for the coroutines of one thread. Callers ask for work, never for readiness.
//
// An operation (Op) lives in the frame of the coroutine that awaits it. Once started, it completes
// exactly once. Until then the engine uses its memory; destroying a pending operation fails an
// assertion. All members except wake() and ring_descriptor() must be called on the engine's thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "io/lease.h"
#include "io/op.h"
#include "io/turn_times.h"

namespace h2server::io {

// Data of a layer above that belongs to one engine: used on its thread, destroyed with it.
class EngineLocal {
 public:
  EngineLocal() = default;
  EngineLocal(const EngineLocal&) = delete;
  EngineLocal& operator=(const EngineLocal&) = delete;
  virtual ~EngineLocal() = default;

  // Called on the engine's thread after another thread called wake().
  virtual void woken() {}
  // Called at the end of each turn while memory is short (base/memory/memory_budget.h) or a round
  // that gives back freed memory has been asked for (base/memory/freed_memory.h).
  virtual void relieve() {}
};

class Engine : public Lender {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  // Returns true if `op` has completed already; the caller then does not suspend.
  [[nodiscard]] virtual bool start(Op& op) = 0;
  virtual void cancel(Op& op) = 0;
  // Cancels all pending operations, and from now on every operation as it starts.
  virtual void cancel_all() = 0;
  // Submits operations, waits, and resumes the coroutines of completed ones, until stop().
  virtual void run() = 0;
  virtual void stop() noexcept = 0;
  // Wakes the engine. May be called on any thread and in a signal handler.
  virtual void wake() noexcept = 0;

  // Calls timer.fire at that time of now_ms(), see base::TimerWheel. An engine with a loop only.
  virtual void arm_timer(base::Timer& /*timer*/, std::int64_t /*due_ms*/) {
    ASSERT(!"no event loop");
  }
  virtual void disarm_timer(base::Timer& /*timer*/) noexcept {}

  // Accepts no more from a listener. Returns true if connections may have been accepted that no
  // operation has taken: AcceptOps then yield them, and at last ECANCELED.
  [[nodiscard]] virtual bool end_accepting(Socket& /*listener*/) { return false; }

  // Returns the engine whose event loop this thread runs: this one, or, for a BlockingEngine, one
  // beside it, for HTTP/2 and for waits that have no descriptor. Null if the system lacks
  // descriptors for that.
  [[nodiscard]] virtual Engine* loop() { return this; }

  // Returns false if the operations on sockets block the thread, and there are no timers.
  [[nodiscard]] virtual bool has_loop() const noexcept { return false; }

  // Returns true if SendOp::file may be used.
  [[nodiscard]] virtual bool sends_files() const noexcept { return false; }

  // Returns an empty buffer for the caller to fill.
  [[nodiscard]] virtual Lease borrow() = 0;
  // Frees the buffers that are not lent.
  virtual void free_spare_buffers() noexcept {}
  // The clocks of this turn; see base/clock.h.
  [[nodiscard]] virtual std::int64_t now_ms() const noexcept = 0;
  [[nodiscard]] virtual std::int64_t unix_seconds() const noexcept = 0;
  // What need not be done in a turn that has lasted that long is left to the next one.
  static constexpr std::int64_t long_turn_ms = 20;
  // Returns how long this turn of the loop has lasted, in ms, to a tick of the clock.
  [[nodiscard]] virtual std::int64_t turn_ms() const noexcept { return 0; }

  // Measures the turns of the loop, if there is one. `watch` must outlive the engine.
  void watch_turns(TurnWatch& watch) noexcept { turns_ = &watch; }

  // Passes a descriptor to another thread's engine through the kernel, at the end of the turn. That
  // engine wakes and takes it by take_passed(). Returns false, without effect, if not supported.
  [[nodiscard]] virtual bool pass(Engine& /*to*/, base::Fd& /*descriptor*/) { return false; }
  // Returns a descriptor that was passed to this engine, or an invalid one if there is none.
  [[nodiscard]] virtual base::Fd take_passed() { return {}; }
  // Returns the ring to which other engines pass descriptors, or -1 if there is none. Any thread.
  [[nodiscard]] virtual int ring_descriptor() const noexcept { return -1; }

  // Returns the object added under `key`, an address of the caller's, or null.
  [[nodiscard]] EngineLocal* local(const void* key) const noexcept {
    for (const Local& one : locals_) {
      if (one.key == key) return one.object.get();
    }
    return nullptr;
  }
  // Replaces the object with that key, if there is one. Not to be called by woken().
  void set_local(const void* key, std::unique_ptr<EngineLocal> object) {
    std::erase_if(locals_, [key](const Local& one) { return one.key == key; });
    locals_.push_back({key, std::move(object)});
  }

  // Returns the engine that runs this thread's coroutines, or null.
  [[nodiscard]] static Engine* current() noexcept;
  static void set_current(Engine* engine) noexcept;

 protected:
  // Null: nobody wants to know the times of turns.
  [[nodiscard]] TurnWatch* turn_watch() const noexcept { return turns_; }

  // Destroys the objects. The destructor of a final class calls it first: until an object's
  // destructor has ended, other threads may call wake().
  void drop_locals() noexcept { locals_.clear(); }
  void wake_locals() {
    for (std::size_t i = 0; i < locals_.size(); ++i) locals_[i].object->woken();
  }
  void relieve_locals() {
    for (std::size_t i = 0; i < locals_.size(); ++i) locals_[i].object->relieve();
  }

 private:
  TurnWatch* turns_ = nullptr;
  friend class Socket;
  // Called when `socket` is destroyed or moved to another engine. It has no pending operation.
  virtual void forget(Socket& socket) noexcept = 0;

  struct Local {
    const void* key;
    std::unique_ptr<EngineLocal> object;
  };
  std::vector<Local> locals_;
};

// Returns a time for an operation, where 0 means "no deadline": at least 1 ms, at most 49 days.
inline std::uint32_t deadline_ms(std::chrono::milliseconds time) noexcept {
  constexpr std::chrono::milliseconds least{1};
  constexpr std::chrono::milliseconds most{std::numeric_limits<std::uint32_t>::max()};
  return static_cast<std::uint32_t>(std::clamp(time, least, most).count());
}

inline Socket::Socket(Engine& owner, base::Fd descriptor) noexcept
    : engine_(&owner), fd_(std::move(descriptor)) {}
inline Socket::~Socket() {
  ASSERT(state.reader == nullptr && state.writer == nullptr);
  engine_->forget(*this);
}
inline void Socket::move_to(Engine& engine) noexcept {
  ASSERT(state.reader == nullptr && state.writer == nullptr);
  engine_->forget(*this);
  state = {};
  engine_ = &engine;
}

// Returns the time of the turn; 0 without an engine.
inline std::int64_t now_ms(const Engine* engine) noexcept {
  return engine != nullptr ? engine->now_ms() : 0;
}

inline bool Op::await_ready() { return engine.start(*this); }
inline void Op::cancel() { engine.cancel(*this); }

}  // namespace h2server::io
