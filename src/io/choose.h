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

struct EngineChoice {
  EngineKind kind = EngineKind::epoll;
  std::string reason;  // why it was chosen, in a few words; empty if it was requested
};

[[nodiscard]] std::string_view name_of(EngineKind kind) noexcept;

// Chooses an engine with a loop. `wanted` is not `blocking`; `automatic` selects the better one
// that works here. The error is a line for the operator.
Result<EngineChoice, std::string> choose_engine(IoEngine wanted);

// Must be called on the thread that will run the engine.
Result<std::unique_ptr<Engine>> open_engine(EngineKind kind);

}  // namespace h2server::io
