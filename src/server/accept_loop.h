// The loop of whoever accepts connections from a listener.
#pragma once

#include <functional>

#include "base/fd.h"
#include "h2server/task.h"
#include "io/engine.h"
#include "server/shortage.h"

namespace h2server::server {

class AcceptLoop {
 public:
  // `take` is offered each connection. False: it has no room for it now, and will be offered it
  // again; meanwhile none is accepted. `shed` is called when the system has no descriptor for
  // another connection: it is to end one that is idle.
  AcceptLoop(io::Engine& engine, base::Fd listener, std::function<bool(base::Fd&)> take,
             std::function<void()> shed);

  // Until stop().
  Task<void> run();
  void stop();

 private:
  Task<bool> pause(std::uint32_t time_ms);  // false: stopped

  io::Socket listener_;
  std::function<bool(base::Fd&)> take_;
  std::function<void()> shed_;
  io::Op* waiting_ = nullptr;
  bool stopped_ = false;
  Shortage shortage_;
};

}  // namespace h2server::server
