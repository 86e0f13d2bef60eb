// Admin: the admin listener. It shows what the server does, to its operator alone: metrics, the
// status page, its numbers as JSON and as server-sent events.
//
// A server of its own, with one worker, so that it answers while the workers are busy.
#pragma once

#include <memory>
#include <string>

#include "config/configuration.h"
#include "h2server/result.h"
#include "h2server/server.h"

namespace h2server::app {

class Admin {
 public:
  // Both must outlive it. `listener` is where it listens.
  Admin(const config::Configuration& configuration, ListenerOptions listener, Server& server);
  Admin(const Admin&) = delete;
  Admin& operator=(const Admin&) = delete;
  ~Admin();

  // The server runs. The error is a line for the operator.
  Result<void, std::string> start();
  // Describes the certificates from now on as their files are. Call it when the server has loaded
  // them anew. Any thread.
  void read_certificates();
  // From now on it is said to be not ready: a load balancer is to send nothing new. Any thread.
  void announce_end() noexcept;
  // Before the server is destroyed.
  void stop() noexcept;
  // "http://127.0.0.1:9000/-/status" or "unix:PATH". Once it has started.
  [[nodiscard]] std::string url() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace h2server::app
