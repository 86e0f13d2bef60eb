// What uploads need done now and then, though no client asks for it.
#pragma once

#include <chrono>
#include <exception>
#include <memory>

#include "base/log.h"
#include "h2server/result.h"
#include "h2server/task.h"
#include "h2server/timing.h"

namespace h2server::content {

// Calls Kept::upkeep() now and then, until the task is to stop.
template <class Kept>
Task<void> keep_up(std::shared_ptr<Kept> kept) {
  for (;;) {
    const auto next = std::chrono::steady_clock::now() + kept->sweep_pause();
    try {
      co_await kept->upkeep();
    } catch (const std::exception& error) {  // no memory, no descriptors: another time
      base::log_warning("can't look for expired uploads: {}", error.what());
    }
    const Result<void> slept = co_await sleep_until(next);
    if (!slept) co_return;
  }
}

}  // namespace h2server::content
