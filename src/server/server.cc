#include "h2server/server.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "base/assert.h"
#include "base/log.h"
#include "content/open_beneath.h"
#include "io/engine.h"
#include "server/scheme.h"

namespace h2server {

namespace {

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

// For an engine, to which 0 means "no deadline". At most 49 days.
std::uint32_t deadline_ms(std::chrono::milliseconds time) {
  constexpr std::chrono::milliseconds least{1};
  constexpr std::chrono::milliseconds most{std::numeric_limits<std::uint32_t>::max()};
  return static_cast<std::uint32_t>(std::clamp(time, least, most).count());
}

server::SchemeOptions scheme_options(const server::SchemeKind& kind, const ServerOptions& options) {
  return {.listen = {.host = options.host, .port = options.port},
          .workers = options.threads == 0 ? kind.workers : options.threads,
          .connections_max = std::max(options.connections_max, 1U),
          .queue_size = std::max(options.queue_size, 1U),
          .refuse_when_full = options.refuse_when_full};
}

}  // namespace

struct Server::State {
  ServerOptions options;
  server::SharedContext shared;
  std::unique_ptr<server::Scheme> scheme;  // once started
  std::mutex mutex;                        // stop() and report() may come from any thread
  std::vector<Address> addresses;
  Engine engine;

  void print_report() const;
  bool wait_for_stop(const sigset_t& signals) const;
};

void Server::State::print_report() const {
  std::istringstream lines(scheme->report());
  for (std::string line; std::getline(lines, line);) base::log_info("{}", line);
}

// Until one of the signals asks to stop. False: there is no need to ask.
bool Server::State::wait_for_stop(const sigset_t& signals) const {
  for (;;) {
    int signal = 0;
    ::sigwait(&signals, &signal);
    if (signal == SIGUSR1) {
      print_report();
    } else if (signal != SIGCHLD) {
      return true;
    } else if (scheme->failed()) {
      return false;
    }
  }
}

Server::Server(ServerOptions options) : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
}

Server::~Server() {
  if (state_->scheme == nullptr) return;
  stop();
  stop();
  wait();
}

void Server::add_handler(Method method, std::string_view pattern, Handler handler) {
  ASSERT(state_->scheme == nullptr);  // the workers read the router without a lock
  const Result<void, std::string> added =
      state_->shared.router.add(method, pattern, std::move(handler));
  if (!added) throw std::invalid_argument(added.error());
}

Result<void, std::string> Server::start() {
  ASSERT(state_->scheme == nullptr);
  const ServerOptions& options = state_->options;
  server::SharedContext& shared = state_->shared;
  if (content::probe_open_beneath() != 0) {
    return std::unexpected("this kernel lacks openat2, which keeps paths inside the root: "
                           "h2server needs Linux 5.6 or newer");
  }
  if (!options.root.empty()) {
    auto folder = content::Folder::open(options.root);
    if (!folder) {
      return std::unexpected("can't open the root " + options.root + ": " +
                             std::strerror(folder.error()));
    }
    shared.root = *std::move(folder);
  }
  if (!options.cleartext) {
    auto tls = net::TlsContext::open(options.certificate_file, options.key_file);
    if (!tls) return std::unexpected(tls.error());
    shared.tls = *std::move(tls);
  }
  const auto h2 = http::h2::find_implementation(options.h2);
  if (!h2) return std::unexpected("unknown HTTP/2 implementation " + options.h2);
  shared.h2 = *h2;
  shared.drain_ms_max = deadline_ms(options.drain_limit);
  shared.limits.requests_per_connection = options.requests_per_connection;
  // The last 4 MiB do not go so: below this size little is gained.
  if (options.send_files) shared.limits.send_file_bytes_min = 16 * 1024 * 1024;
  const server::SchemeKind* const kind = server::find_scheme(options.scheme);
  if (kind == nullptr) return std::unexpected("unknown scheme " + options.scheme);
  Result<server::EngineTaken, std::string> engine = server::take_engine(*kind, options.io);
  if (!engine) return std::unexpected(engine.error());
  shared.engine = engine->kind;
  std::unique_ptr<server::Scheme> scheme = kind->make(shared, scheme_options(*kind, options));
  Result<void, std::string> started = scheme->start();
  if (!started) return started;
  state_->addresses.clear();  // of an earlier start
  for (const auto& address : scheme->addresses()) {
    state_->addresses.push_back({address.host, address.port});
  }
  state_->engine = {std::move(engine->name), std::move(engine->reason)};
  const std::lock_guard lock(state_->mutex);
  state_->scheme = std::move(scheme);
  return {};
}

const std::vector<Server::Address>& Server::addresses() const noexcept { return state_->addresses; }

const Server::Engine& Server::engine() const noexcept { return state_->engine; }

std::string Server::report() const {
  const std::lock_guard lock(state_->mutex);
  return state_->scheme == nullptr ? std::string() : state_->scheme->report();
}

void Server::stop() noexcept {
  const std::lock_guard lock(state_->mutex);
  if (state_->scheme != nullptr) state_->scheme->stop();
}

void Server::wait() {
  if (state_->scheme == nullptr) return;
  state_->scheme->join();
  const std::string summary = state_->scheme->summary();
  if (!summary.empty()) base::log_warning("{}", summary);
  const std::lock_guard lock(state_->mutex);
  state_->scheme.reset();
}

Result<void, std::string> Server::run(const std::function<void()>& started) {
  // Blocked before the threads start, so that they inherit it and sigwait() gets the signals.
  const sigset_t signals = set_of({SIGINT, SIGTERM, SIGUSR1, SIGCHLD});
  const sigset_t while_stopping = set_of({SIGINT, SIGTERM, SIGUSR1});
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  Result<void, std::string> begun = start();
  if (!begun) return begun;
  if (started) started();
  const bool asked = state_->wait_for_stop(signals);
  stop();
  std::atomic<bool> ended{false};
  std::thread second([&] {
    if (state_->wait_for_stop(while_stopping) && !ended.load()) stop();
  });
  state_->scheme->join();
  ended.store(true);
  ::pthread_kill(second.native_handle(), SIGTERM);
  second.join();
  wait();
  if (!asked) return std::unexpected(std::string("connections can't be accepted any more"));
  return {};
}

Task<bool> sleep_for(std::chrono::milliseconds time) {
  io::Engine* const engine = io::Engine::current();
  ASSERT(engine != nullptr);  // only handlers sleep
  if (time.count() <= 0) co_return true;
  io::SleepOp sleep(*engine, deadline_ms(time));
  const bool slept = co_await sleep;
  co_return slept;
}

}  // namespace h2server
