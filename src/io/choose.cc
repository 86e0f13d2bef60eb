#include "io/choose.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/log.h"
#include "io/epoll_engine.h"
#include "io/uring.h"

namespace h2server::io {

std::string_view name_of(EngineKind kind) noexcept {
  return kind == EngineKind::epoll ? "epoll" : "io_uring";
}

Result<EngineChoice, std::string> choose_engine(IoEngine wanted) {
  if (wanted == IoEngine::epoll) return EngineChoice{{EngineKind::epoll}, ""};
  const bool open_to_all = wanted == IoEngine::automatic;
  const std::string obstacle = uring_obstacle();
  if (obstacle.empty()) {
    return EngineChoice{{EngineKind::io_uring, open_to_all},
                        open_to_all ? "allowed here, and no slower than epoll" : ""};
  }
  const std::string reason = fmt::format("io_uring does not work here: {}", obstacle);
  if (open_to_all) return EngineChoice{{EngineKind::epoll}, reason};
  return std::unexpected(reason);
}

Result<std::unique_ptr<Engine>> open_engine(EngineWanted wanted) {
  if (wanted.kind == EngineKind::epoll) return EpollEngine::open();
  Result<std::unique_ptr<Engine>> ring = open_uring_engine();
  if (ring || !wanted.or_epoll || ring.error().code != ENOMEM) return ring;
  base::log_warning(
      "a thread runs on epoll: no memory for another io_uring (raise the limit on locked memory, "
      "ulimit -l)");
  return EpollEngine::open();
}

}  // namespace h2server::io
