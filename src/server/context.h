// SharedContext: what all workers of a server share. WorkerContext: what one worker's connections
// share.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/memory/pool.h"
#include "base/networks.h"
#include "file/folder.h"
#include "h2server/limits.h"
#include "http/answer.h"
#include "http/h1/connection.h"
#include "http/h2/session.h"
#include "http/router.h"
#include "http/window_budget.h"
#include "http/worker_context.h"
#include "io/choose.h"
#include "io/engine.h"
#include "io/job_pool.h"
#include "net/tls/tls_current.h"
#include "server/accept/accepted.h"
#include "server/accept/admission.h"
#include "server/counters.h"
#include "server/give_up.h"
#include "server/observation.h"

namespace h2server::server {

// The protocol of connections with many streams: how it is recognised, and who speaks it.
struct MultiplexedProtocol {
  std::string_view alpn = "h2";
  std::string_view preface = http::h2::preface;  // in cleartext; empty: all connections speak it
  http::h2::SessionMaker make_session = http::h2::make_native_session;
};

// Does not change while the server runs, except for thread-safe members.
struct SharedContext {
  http::Router router;
  std::unique_ptr<http::Composition> composition;  // beside the router; may be null
  Limits limits;
  mutable http::WindowBudget windows{0};     // thread-safe; filled by start()
  net::CurrentTls tls;                       // thread-safe; empty: no listener has TLS
  std::shared_ptr<const file::Folder> root;  // of load_file_from_filecache(); may be null
  base::Networks trusted_proxies;
  std::uint32_t drain_ms_max = 10'000;
  mutable Admission admission;               // thread-safe
  std::unique_ptr<Observation> observation;  // null: nobody observes
  mutable GiveUp give_up;                    // thread-safe
  mutable io::JobPool blocking_calls;        // thread-safe; of run_blocking()
  MultiplexedProtocol multiplexed;
  ListenerKind usual_listener;  // the first one's
  bool foreign_loop = false;    // the worker runs on the thread that calls Server::poll()
  io::EngineWanted engine;      // of workers that have an event loop
};

// Used only by the thread of its worker.
struct WorkerContext : http::WorkerContext {
  WorkerContext(const SharedContext& all, io::Engine& own, WorkerCounters& counted)
      : http::WorkerContext{.router = all.router,
                            .limits = all.limits,
                            .streams = &counted.streams,
                            .last_route = &counted.last_route,
                            .composition = all.composition.get(),
                            .windows = &all.windows},
        shared(all),
        engine(own),
        counters(counted),
        observation(all.observation != nullptr ? &all.observation->join(counted.requests)
                                               : nullptr) {}

  // Frees what the worker, on whose thread it is called, keeps for its next requests.
  void free_reserve() noexcept;

  const SharedContext& shared;
  io::Engine& engine;
  WorkerCounters& counters;
  WorkerObservation* observation;  // null: nobody observes
  base::Pool<http::h1::H1Exchange> h1_exchanges;
  base::Pool<http::h2::H2Exchange> h2_exchanges;
};

}  // namespace h2server::server
