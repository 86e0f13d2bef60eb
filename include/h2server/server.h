// Server: listens on ports and Unix sockets, and answers requests by handlers.
//
//   h2server::Server server({.port = 8080, .cleartext = true, .root = "./www"});
//   server.get("/files/{file_name}", downloader);
//   if (auto done = server.run(); !done) std::cerr << done.error() << '\n';
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "h2server/connection_info.h"
#include "h2server/failure.h"
#include "h2server/handler.h"
#include "h2server/message.h"
#include "h2server/middleware.h"
#include "h2server/options.h"
#include "h2server/path_rules.h"
#include "h2server/result.h"
#include "h2server/routes.h"
#include "h2server/status.h"
#include "h2server/task.h"

#pragma GCC visibility push(default)
namespace h2server {

inline constexpr std::string_view open_metrics_media_type =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

class Server {
 public:
  struct Engine {
    std::string name;
    std::string reason;  // why it was chosen; empty if it was asked for
  };

  explicit Server(ServerOptions options = {});
  // Cancels what still runs and waits for its end, see wait().
  ~Server();

  // Functions that set up the server throw std::logic_error while it runs and after wait() returned
  // false. Those that add routes also throw as Routes::route() does.

  // Add routes for all hosts that have none of their own.
  void add_handler(Method method, std::string_view pattern, const Handler& handler) {
    routes().route({method}, pattern, handler);
  }
  Routes& route(std::initializer_list<Method> methods, std::string_view pattern,
                const Handler& handler) {
    return routes().route(methods, pattern, handler);
  }
  Routes& get(std::string_view pattern, const Handler& handler) {
    return routes().get(pattern, handler);
  }
  Routes& post(std::string_view pattern, const Handler& handler) {
    return routes().post(pattern, handler);
  }
  Routes& put(std::string_view pattern, const Handler& handler) {
    return routes().put(pattern, handler);
  }
  Routes& patch(std::string_view pattern, const Handler& handler) {
    return routes().patch(pattern, handler);
  }
  Routes& del(std::string_view pattern, const Handler& handler) {
    return routes().del(pattern, handler);
  }
  Routes& any(std::string_view pattern, const Handler& handler) {
    return routes().any(pattern, handler);
  }
  [[nodiscard]] Routes& routes() noexcept;
  [[nodiscard]] Routes group(std::string_view prefix) { return routes().group(prefix); }
  [[nodiscard]] Routes with(Middleware middleware) { return routes().with(std::move(middleware)); }
  // Returns the routes of one host, as named by Host or :authority without a port; requests for it
  // see no others. They begin with the middleware that use() has added so far. "*.example.com"
  // stands for all names below example.com that have no closer match. A client that names another
  // host when it begins TLS (SNI) gets 421 (RFC 9110, 15.5.20). Throws std::invalid_argument for
  // what is no name.
  [[nodiscard]] Routes host(std::string_view name);
  // The same for a host with several names. Those of different hosts are invalid.
  [[nodiscard]] Routes hosts(const std::vector<std::string>& names);

  // Changes paths before routes and middleware see them, by the first rule that matches: of hosts
  // without routes of their own, or of one host. Replaces earlier rules. Throws
  // std::invalid_argument for rules that make no sense.
  void rewrite(const std::vector<Rewrite>& rules);
  void rewrite(std::string_view host, const std::vector<Rewrite>& rules);

  // Adds a middleware to requests without a route, and to routes that are added from now on, by
  // this object or by Routes objects made from now on. Those made before do not get it.
  void use(Middleware middleware);
  void set_error_handler(ErrorHandler handler);
  // Without a hook, failures are logged on standard error, except those of the client and of
  // exchanges that have stopped.
  void set_failure_hook(FailureHook hook);

  // Starts a task on one of the workers, in turn; before start(), when that succeeds. It lives in
  // the server, not in an exchange: its token stops when the server begins to stop, which waits for
  // it up to the drain limit. What it throws is logged. Returns false if the scheme has no event
  // loops, and once the server no longer accepts work. Any thread.
  bool spawn(Task<void> task);
  // Calls the function on the thread of that worker, counted from 0. It must not block; what it
  // throws is logged. Returns false if there is no such worker. What a worker has not begun when it
  // ends is destroyed uncalled. Any thread, once started.
  bool post(unsigned worker, std::function<void()> function);
  // The number of workers for post(); 0 if the scheme has no event loops. Valid once started.
  [[nodiscard]] unsigned workers() const noexcept;

  // Listens and starts the threads. The error is a line for the operator. May be called again after
  // wait() returned true. Throws std::logic_error while the server runs or after wait() returned
  // false.
  [[nodiscard]] Result<void, std::string> start();
  // With ServerOptions::foreign_loop: a descriptor that becomes readable when poll() has something
  // to do, for poll(2), GLib, asio or another loop; otherwise -1. Valid once started.
  [[nodiscard]] int descriptor() const noexcept;
  // With ServerOptions::foreign_loop: handles what is ready, on the thread that called start(), and
  // does not wait. Handlers run inside of this call. After stop(), call it until ended(), or call
  // wait(), which does that.
  void poll();
  // With ServerOptions::foreign_loop: returns true if nothing runs any more after stop(), so that
  // wait() returns at once.
  [[nodiscard]] bool ended() const noexcept;
  // Where the server listens, in the order of the options; a host's name may have several
  // addresses. Valid once started.
  [[nodiscard]] const std::vector<Address>& addresses() const noexcept;
  // The I/O engine that was chosen; single threads may have fallen back to epoll, see IoEngine.
  // Valid once started.
  [[nodiscard]] const Engine& engine() const noexcept;
  // Returns the numbers of ServerOptions::metrics as text in the format OpenMetrics 1.0, whose
  // media type is open_metrics_media_type; empty while the server does not run. Any thread.
  [[nodiscard]] std::string metrics() const;
  // Describes what the server does; empty while it does not run. For `all`, asks the workers and
  // waits for them, 200 ms at most, so not on a worker's thread: use run_blocking(). `numbers`
  // leaves out connections, uploads and paths. Any other thread.
  enum class Detail : std::uint8_t { numbers, all };
  [[nodiscard]] ServerStatus status(Detail detail = Detail::all) const;
  // Loads certificates, keys and OCSP responses anew, for connections that are accepted from now
  // on; sessions that began before can be resumed. If one can't be used, all stay as they were; the
  // error is a line for the operator. Asks for no passphrase: an encrypted key has to be the one
  // that was loaded before. Any thread, once started; it waits for the disk.
  [[nodiscard]] Result<void, std::string> reload_certificates();
  // Lets clients resume the TLS sessions that began with `other`, as long as the options trust the
  // same clients. start() then asks for no passphrase, see above. Call it before start().
  void resume_sessions_of(const Server& other);
  // Opens the files of the logs anew, after they were renamed. Any thread.
  void reopen_logs() noexcept;
  // Returns the load in lines; empty while the server does not run. Any thread.
  [[nodiscard]] std::string report() const;
  // Stops accepting, for a server whose successor listens on the same sockets (see
  // ListenerOptions::descriptors). Requests in flight have all the time that limits and paces
  // allow. A connection that pauses for a second is ended; one that is never idle is told after a
  // minute (GOAWAY, Connection: close). Ends as after stop(), which may follow. Schemes without
  // event loops stop() instead. Any thread.
  void retire() noexcept;
  // Stops accepting and drains; a second call cancels what is in flight. Any thread, but not in a
  // signal handler.
  void stop() noexcept;
  // Waits until everything has ended after stop(). Returns false if handlers or file operations did
  // not end in time: the log names them, their threads run on, and what they use is never released.
  // Such a server can't be started again, and its program should end by std::_Exit().
  bool wait();

  // Returns true if connections can't be accepted any more; to be asked after SIGCHLD, by the
  // thread that called start().
  [[nodiscard]] bool failed() noexcept;

  // Calls start() and serves until SIGINT or SIGTERM; a second one cancels what is in flight.
  // SIGUSR1 prints the report on standard error, SIGHUP opens the logs anew. The program must not
  // handle these, nor SIGCHLD.
  // `started` is called once the server listens. Also fails if something was left behind, see
  // wait(). Throws what start() and `started` throw; the server has ended then. Always restores the
  // caller's signal mask.
  [[nodiscard]] Result<void, std::string> run(const std::function<void()>& started = {});

 private:
  friend class TestClient;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace h2server
#pragma GCC visibility pop
