// Server: listens on a port and answers requests by handlers.
//
//   h2server::Server server({.port = 8080, .cleartext = true, .root = "./www"});
//   server.add_handler(GET, "/files/{file_name}", downloader);
//   if (auto done = server.run(); !done) std::cerr << done.error() << '\n';
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/handler.h"
#include "h2server/message.h"
#include "h2server/options.h"
#include "h2server/result.h"

namespace h2server {

class Server {
 public:
  struct Address {
    std::string host;  // numeric
    std::uint16_t port = 0;
  };

  struct Engine {
    std::string name;
    std::string reason;  // why it was chosen; empty if it was asked for
  };

  explicit Server(ServerOptions options = {});
  // Cancels what still runs and waits for its end, see wait().
  ~Server();

  // Patterns: "/files/{file_name}" has a parameter, "/{path...}" takes the rest of a path. Throws
  // std::invalid_argument if the pattern is invalid or taken or the handler is empty, and
  // std::logic_error while the server runs or after wait() returned false.
  void add_handler(Method method, std::string_view pattern, Handler handler);

  // Listens and starts the threads. The error is a line for the operator. May be called again after
  // wait() returned true. Throws std::logic_error while the server runs or after wait() returned
  // false.
  [[nodiscard]] Result<void, std::string> start();
  // Where the server listens. Valid once started.
  [[nodiscard]] const std::vector<Address>& addresses() const noexcept;
  // The I/O engine in use. Valid once started.
  [[nodiscard]] const Engine& engine() const noexcept;
  // Returns the load in lines; empty while the server does not run. Any thread.
  [[nodiscard]] std::string report() const;
  // Stops accepting and drains; a second call cancels what is in flight. Any thread.
  void stop() noexcept;
  // Waits until everything has ended after stop(). Returns false if handlers or file operations did
  // not end in time: the log names them, their threads run on, and what they use is never released.
  // Such a server can't be started again, and its program should end by std::_Exit().
  bool wait();

  // Calls start() and serves until SIGINT or SIGTERM; a second one cancels what is in flight.
  // SIGUSR1 prints the report on standard error. The program must not handle these, nor SIGCHLD.
  // `started` is called once the server listens. Also fails if something was left behind, see
  // wait(). Throws what start() and `started` throw; the server has ended then. Always restores the
  // caller's signal mask.
  [[nodiscard]] Result<void, std::string> run(const std::function<void()>& started = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Suspends the handler. Returns false if the stopping server cancels it. Throws std::logic_error if
// the calling thread runs no handler.
Task<bool> sleep_for(std::chrono::milliseconds time);

}  // namespace h2server
