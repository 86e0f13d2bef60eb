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
  // Called by start(), once, for the passphrase of a key file that is encrypted; its error is the
  // reason why start() fails. Empty: an encrypted key is an error.
  std::function<Result<std::string, std::string>(const std::string& key_file)> key_passphrase = {};
  // Workers; 0: as many as the scheme takes by default, which is 1, or 64 in a pool. Not for
  // schemes that make a thread or a process for each connection.
  unsigned threads = 0;
  // Who accepts and how connections are served: acceptor, reuseport, thread-pool, buffered-pool,
  // thread-per-connection, process-per-connection. The last one forks in start(), where the program
  // should have one thread only; handlers run in processes of their own.
  std::string scheme = "acceptor";
  std::string io = "auto";  // the engine: epoll, io_uring, or blocking, as far as the scheme has it
  // Who speaks HTTP/2: native, which is our own, or nghttp2, which is libnghttp2.
  std::string h2 = "native";
  // Open at once; 0: 512 with a thread or a process for each, and beyond it others wait; else as
  // many as there are descriptors for. Beyond it the connection that has been idle longest is
  // closed, or, where none is idle, the new one.
  unsigned connections_max = 0;
  // From one IPv4 address or IPv6 network of 64 bits; more are closed. 0: half of all, or, where
  // a connection has a thread or a process, all.
  unsigned connections_per_address_max = 0;
  unsigned queue_size = 128;      // buffered-pool: accepted and waiting for a thread
  bool refuse_when_full = false;  // buffered-pool: else the next connection waits for room
  std::uint64_t requests_per_connection = 0;  // then it is closed; 0: no limit
  // Files from 16 MiB on by sendfile() over cleartext HTTP/1.1: a quarter less CPU time. Where they
  // are written in place while they are served, a client on this machine may get a mixture.
  bool send_files = false;
  std::string root = {};  // where load_file_from_filecache() looks; may be empty
  // After stop() what is under way may take that long. Then it is cancelled, and what does not end
  // within a second of that is left behind.
  std::chrono::milliseconds drain_limit{10'000};
};

class Server {
 public:
  struct Address {
    std::string host;  // numeric
    std::uint16_t port = 0;
  };

  struct Engine {
    std::string name;
    std::string reason;  // why it and no other; empty when it was asked for
  };

  explicit Server(ServerOptions options = {});
  // Stops at once what still runs.
  ~Server();

  // Patterns: "/files/{file_name}" has a parameter, "/{path...}" takes the rest of a path. Throws
  // std::invalid_argument when the pattern is wrong or taken or the handler empty, and
  // std::logic_error while the server runs.
  void add_handler(Method method, std::string_view pattern, Handler handler);

  // Listens and starts the threads. The error is a line for the operator. Throws std::logic_error
  // while the server runs; after wait() it may start again.
  [[nodiscard]] Result<void, std::string> start();
  // Where it listens, once started.
  [[nodiscard]] const std::vector<Address>& addresses() const noexcept;
  // What it runs on, once started.
  [[nodiscard]] const Engine& engine() const noexcept;
  // Lines that say who has how much to do; none while it does not run. Any thread.
  [[nodiscard]] std::string report() const;
  // Stops accepting and lets what is under way end; a second call ends it at once. Any thread.
  void stop() noexcept;
  // Until everything has ended after stop(). Returns false if handlers, or calls on files, did not
  // end in time: the log names them, their threads run on, and what they use is never released.
  // Such a server can't be started again, and its program had better end by std::_Exit().
  bool wait();

  // start(), then serves until SIGINT or SIGTERM; a second one ends what is still under way.
  // SIGUSR1 prints the report on standard error. Nobody else may handle these, nor SIGCHLD.
  // `started` is called once the server listens. An error, too: something was left behind, as
  // wait() tells. Throws as start(), and what `started` throws; the server has ended then. The
  // caller's signal mask is in force again in any case.
  [[nodiscard]] Result<void, std::string> run(const std::function<void()>& started = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Suspends the handler. Returns false if the server is being stopped. Throws std::logic_error when
// the calling thread runs no handler.
Task<bool> sleep_for(std::chrono::milliseconds time);

}  // namespace h2server
