// ServiceManager: what the program tells systemd, or another service manager with its protocol, and
// the listening sockets that this one passes (sd_notify(3), sd_watchdog_enabled(3),
// sd_listen_fds(3)). Without a service manager nothing happens.
//
// The main thread's. It reads the environment, so make it before there are other threads.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "h2server/result.h"

namespace h2server::app {

class ServiceManager {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  ServiceManager();
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;
  ~ServiceManager() = default;

  // The program serves: at the start, after a reload, and after one that failed. `status` is a
  // line that `systemctl status` shows.
  void ready(std::string_view status);
  // A reload begins; ready() ends it.
  void reloading();
  // The program ends; it may take so long as `limit`, after which the service manager kills it.
  void stopping(std::string_view status, std::chrono::milliseconds limit);
  // From now on that process is the service: it serves, and this one ends.
  void hand_over(pid_t successor);

  // The program works. To be called at least every watchdog_ms().
  void alive();
  // 0: the service manager does not watch the program.
  [[nodiscard]] std::int64_t watchdog_ms() const noexcept { return watchdog_ms_; }

 private:
  void send(std::string_view message);

  std::string address_;  // of the socket; it begins with '/', or a zero byte for an abstract one
  base::Fd socket_;
  std::int64_t watchdog_ms_ = 0;
  bool reported_ = false;  // that a message was not sent
};

// A listening socket by the service manager.
struct PassedSocket {
  int descriptor = -1;  // closed on exec; the caller's
  std::string name;     // FileDescriptorName= of the unit; empty if there is none
};
// Reads LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES, which stay as they are. Returns none if they are
// another process's. The error is a line for the operator.
Result<std::vector<PassedSocket>, std::string> passed_sockets();

}  // namespace h2server::app
