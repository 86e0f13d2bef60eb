// MemoryGuard: what a worker does while the process is short of memory
// (base/memory/memory_budget.h): it frees what it keeps in reserve, and cuts off the client whose
// connections hold most. A client is an address, or an IPv6 network of 64 bits, as for Admission.
// And it looks after what was freed (base/memory/freed_memory.h).
//
// One for each worker with an event loop, used on its thread. Each looks at its own connections.
#pragma once

#include <cstdint>

#include "base/memory/freed_memory.h"
#include "base/timer_wheel.h"
#include "io/engine.h"

namespace h2server::server {

struct WorkerContext;

class MemoryGuard {
 public:
  explicit MemoryGuard(WorkerContext& worker) noexcept;
  MemoryGuard(const MemoryGuard&) = delete;
  MemoryGuard& operator=(const MemoryGuard&) = delete;
  ~MemoryGuard();

  // Call when the engine was woken: a round may have begun that gives back what was freed.
  void woken() noexcept;
  // Call at the end of each turn while MemoryBudget::is_short() or FreedMemory::asked(). Comes back
  // by a timer while memory is tight.
  void relieve();

 private:
  void come_back() noexcept;
  void begin_round_later() noexcept;
  void begin_round() noexcept;
  void cut_off_largest();

  WorkerContext& worker_;
  io::Engine& engine_;
  std::int64_t look_from_ms_ = 0;
  base::Timer again_;
  std::uint32_t rounds_seen_ = base::FreedMemory::of_process().rounds();
  base::Timer round_;
  base::Timer look_;
};

}  // namespace h2server::server
