// Server: listens, and has requests answered by handlers.
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
#include "h2server/result.h"

namespace h2server {

struct ServerOptions {
  std::string host = {};     // a name or an address; empty: every address of this machine
  std::uint16_t port = 443;  // 0: any free one, see Server::addresses()
  bool cleartext = false;    // HTTP/1.1 and HTTP/2 with prior knowledge, without TLS
  std::string certificate_file = "./cert/server.crt";  // PEM; not for cleartext
  std::string key_file = "./cert/server.key";
  unsigned threads = 1;             // workers
  std::string scheme = "acceptor";  // who accepts: acceptor, reuseport
  std::string root = {};            // where load_file_from_filecache() looks; may be empty
  // After stop() what is under way may take that long.
  std::chrono::milliseconds drain_limit{10'000};
};

class Server {
 public:
  struct Address {
    std::string host;  // numeric
    std::uint16_t port = 0;
  };

  explicit Server(ServerOptions options = {});
  // Stops at once what still runs.
  ~Server();

  // Before start(). Patterns: "/files/{file_name}" has a parameter, "/{path...}" takes the rest of
  // a path. Throws std::invalid_argument when the pattern is wrong or taken.
  void add_handler(Method method, std::string_view pattern, Handler handler);

  // Listens and starts the threads. The error is a line for the operator.
  [[nodiscard]] Result<void, std::string> start();
  // Where it listens, once started.
  [[nodiscard]] const std::vector<Address>& addresses() const noexcept;
  // Stops accepting and lets what is under way end; a second call ends it at once. Any thread.
  void stop() noexcept;
  // Until everything has ended after stop().
  void wait();

  // start(), then serves until SIGINT or SIGTERM, which nobody else may handle; a second one ends
  // what is still under way. `started` is called once the server listens.
  [[nodiscard]] Result<void, std::string> run(const std::function<void()>& started = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Suspends the handler. False: the server is being stopped.
Task<bool> sleep_for(std::chrono::milliseconds time);

}  // namespace h2server
