// AcceptLoop: accepts connections from one listener on an engine. One thread.
#pragma once

#include <cstdint>
#include <functional>

#include "h2server/result.h"
#include "h2server/task.h"
#include "io/engine.h"
#include "server/accept/accepted.h"

namespace h2server::server {

// ResourceExhaustion: for code that accepts connections when the system has no descriptor, memory,
// thread or process left. The code warns the operator, pauses and retries; open connections are
// still served.
class ResourceExhaustion {
 public:
  static constexpr std::uint32_t pause_ms = 100;  // before a retry

  // Logs a warning, at most once in 10 seconds.
  void report(const Error& error, std::int64_t now_ms);

 private:
  std::int64_t report_from_ms_ = 0;
};

class AcceptLoop {
 public:
  // `engine` outlives this. `take` gets each connection. It returns false if it has no room now: it
  // is called again with the same connection, and no other one is accepted meanwhile. `shed` is
  // called if there is no descriptor for another connection, and should close an idle one.
  AcceptLoop(io::Engine& engine, ListeningSocket listener, std::function<bool(Accepted&)> take,
             std::function<void()> shed);

  // Runs until stop().
  Task<void> run();
  void stop();
  // The same while another server accepts from the same socket: takes what waits there now, since
  // the kernel may have woken this loop alone for it.
  void retire();

 private:
  Task<void> accept_all();
  void take_rest();
  Task<bool> pause(std::uint32_t time_ms);  // returns false if stopped

  io::Socket listener_;
  const ListenerKind kind_;
  std::function<bool(Accepted&)> take_;
  std::function<void()> shed_;
  io::Op* waiting_ = nullptr;
  bool stopped_ = false;
  bool retires_ = false;
  bool may_hold_ = false;  // stopped, and connections may have been accepted before
  ResourceExhaustion exhaustion_;
};

}  // namespace h2server::server
