#include "io/choose.h"

#include <fmt/format.h>

#include "io/epoll_engine.h"

namespace h2server::io {

std::string_view name_of(EngineKind kind) noexcept {
  return kind == EngineKind::epoll ? "epoll" : "io_uring";
}

Result<EngineChoice, std::string> choose_engine(std::string_view wanted) {
  if (wanted == "epoll") return EngineChoice{EngineKind::epoll, ""};
  if (wanted == "auto") return EngineChoice{EngineKind::epoll, ""};
  return std::unexpected(fmt::format("there is no I/O engine {}", wanted));
}

Result<std::unique_ptr<Engine>> open_engine(EngineKind) { return EpollEngine::open(); }

}  // namespace h2server::io
