// Starts the threads of this layer.
#pragma once

#include <fmt/format.h>

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/signals_blocked.h"
#include "h2server/result.h"

namespace h2server::app {

// Starts a thread which gets no signals. The error is a part of a line for the operator: the system
// has no more threads for this program (EAGAIN).
template <class Run>
Result<std::thread, std::string> start_thread(Run run) {
  const base::SignalsBlocked blocked;
  Result<std::thread, std::string> started;
  try {
    started = std::thread(std::move(run));
  } catch (const std::system_error& error) {
    started = std::unexpected(fmt::format("can't start a thread: {}", error.code().message()));
  }
  return started;
}

}  // namespace h2server::app
