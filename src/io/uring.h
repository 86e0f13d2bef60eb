// What the choice of an engine needs of io_uring. In a build without liburing (CMake option
// H2SERVER_IO_URING=OFF), uring_absent.cc implements it.
#pragma once

#include <memory>
#include <string>

#include "h2server/result.h"
#include "io/engine.h"

namespace h2server::io {

// Returns a line for the operator that says why io_uring can't work here; empty if it can.
std::string uring_obstacle();
// Must be called on the thread that will run the engine.
Result<std::unique_ptr<Engine>> open_uring_engine();

}  // namespace h2server::io
