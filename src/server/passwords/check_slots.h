// CheckSlots: how many passwords are checked at the same time, and how many checks wait. Any
// worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "h2server/channel.h"
#include "h2server/result.h"
#include "h2server/task.h"

namespace h2server::server {

class CheckSlots {
  struct Release {
    void operator()(CheckSlots* slots) const noexcept;
  };

 public:
  // Releases its place when it is destroyed. The CheckSlots must outlive it.
  using Slot = std::unique_ptr<CheckSlots, Release>;

  CheckSlots(std::uint32_t slots_max, std::uint32_t waiting_max);

  // Waits for a place, in the order of the calls. Fails with EAGAIN if too many wait, and with
  // ECANCELED if the task is to stop.
  [[nodiscard]] Task<Result<Slot>> take();

 private:
  struct Place {};

  Channel<Place> free_;
  const std::uint32_t waiting_max_;
  std::atomic<std::uint32_t> waiting_{0};
};

}  // namespace h2server::server
