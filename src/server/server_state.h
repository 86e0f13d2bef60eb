// Server::State: what a Server has between its calls.
#pragma once

#include <csignal>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "h2server/server.h"
#include "io/mailbox.h"
#include "server/context.h"
#include "server/schemes/scheme.h"

namespace h2server {

struct Server::State final : RouteSink {
  ServerOptions options;
  std::unique_ptr<server::SharedContext> shared = std::make_unique<server::SharedContext>();
  std::unique_ptr<server::Scheme> scheme;  // once started
  unsigned stops = 0;                      // calls of stop()
  mutable std::mutex mutex;                // any thread may call stop(), report(), spawn(), post()
  std::mutex certificates_mutex;           // one thread at a time loads them
  std::shared_ptr<const net::TlsContext> previous_tls;  // of resume_sessions_of(), for start()
  std::vector<Address> addresses;
  Engine engine;
  Routes routes{*this, "", nullptr};
  std::vector<io::Mailbox*> mailboxes;  // the workers'; empty unless it runs
  std::vector<Task<void>> early_tasks;  // spawned before start()
  std::size_t next_worker = 0;          // for spawn()

  void add_route(const std::string& host, Method method, std::string_view pattern,
                 const Handler& handler, const MiddlewareChainRef& chain) override;
  // The composition, to be changed.
  http::Composition& composition();
  // The routes of a host, which is made if it is new.
  http::HostRoutes& host_routes(std::span<const std::string> names);
  io::Mailbox& next_mailbox() noexcept;
  void start_early_tasks();

  // Prepares what handlers use, without listening.
  Result<void, std::string> prepare();

  void print_report() const;
  void reopen_logs() const;
  bool wait_for_stop(const sigset_t& signals) const;
  bool join_until_second_signal(Server& server, const sigset_t& signals) const;
  void end(bool all_ended);
  void check_usable() const;
  void check_not_running() const;
};

}  // namespace h2server
