// Chooses an engine: the requested one, if this kernel has and allows it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "h2server/options.h"
#include "h2server/result.h"
#include "io/engine.h"

namespace h2server::io {

enum class EngineKind : std::uint8_t { epoll, io_uring };

struct EngineWanted {
  EngineKind kind = EngineKind::epoll;
  bool or_epoll = false;  // if there is no memory for another io_uring
};

struct EngineChoice {
  EngineWanted engine;
  std::string reason;  // why it was chosen, in a few words; empty if it was requested
};

[[nodiscard]] std::string_view name_of(EngineKind kind) noexcept;

// Chooses an engine with a loop. `wanted` is not `blocking`; `automatic` selects the better one
// that works here. The error is a line for the operator.
Result<EngineChoice, std::string> choose_engine(IoEngine wanted);

// Must be called on the thread that will run the engine. Logs that it took epoll instead: all
// processes of a user share one limit on locked memory, so no choice made before is certain.
Result<std::unique_ptr<Engine>> open_engine(EngineWanted wanted);

}  // namespace h2server::io
