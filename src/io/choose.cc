#include "io/choose.h"

#include <fmt/format.h>

#include "io/epoll_engine.h"
#include "io/uring.h"

namespace h2server::io {

std::string_view name_of(EngineKind kind) noexcept {
  return kind == EngineKind::epoll ? "epoll" : "io_uring";
}

Result<EngineChoice, std::string> choose_engine(IoEngine wanted) {
  if (wanted == IoEngine::epoll) return EngineChoice{EngineKind::epoll, ""};
  const bool open_to_all = wanted == IoEngine::automatic;
  const std::string obstacle = uring_obstacle();
  if (obstacle.empty()) {
    return EngineChoice{EngineKind::io_uring,
                        open_to_all ? "allowed here, and no slower than epoll" : ""};
  }
  const std::string reason = fmt::format("io_uring does not work here: {}", obstacle);
  if (open_to_all) return EngineChoice{EngineKind::epoll, reason};
  return std::unexpected(reason);
}

Result<std::unique_ptr<Engine>> open_engine(EngineKind kind) {
  if (kind == EngineKind::io_uring) return open_uring_engine();
  return EpollEngine::open();
}

}  // namespace h2server::io
