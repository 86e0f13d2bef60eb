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
  // `take` is given each connection.
  AcceptLoop(io::Engine& engine, base::Fd listener, std::function<void(base::Fd)> take);

  // Until stop().
  Task<void> run();
  void stop();

 private:
  io::Socket listener_;
  std::function<void(base::Fd)> take_;
  io::Op* waiting_ = nullptr;
  bool stopped_ = false;
  Shortage shortage_;
};

}  // namespace h2server::server
