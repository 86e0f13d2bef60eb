// Which engine: what was asked for, as far as this kernel has and allows it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "h2server/result.h"
#include "io/engine.h"

namespace h2server::io {

enum class EngineKind : std::uint8_t { epoll, io_uring };

struct EngineChoice {
  EngineKind kind = EngineKind::epoll;
  std::string reason;  // why it and not the other, in a few words; empty when it was asked for
};

[[nodiscard]] std::string_view name_of(EngineKind kind) noexcept;

// `wanted`: "epoll", "io_uring", or "auto" for the better one that works here. The error is a line
// for the operator.
Result<EngineChoice, std::string> choose_engine(std::string_view wanted);

// On the thread that will run it.
Result<std::unique_ptr<Engine>> open_engine(EngineKind kind);

}  // namespace h2server::io
