#include "h2server/server.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "base/assert.h"
#include "base/log.h"
#include "content/open_beneath.h"
#include "io/engine.h"
#include "server/scheme.h"

namespace h2server {

namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

// For an engine, to which 0 means "no deadline". At most 49 days.
std::uint32_t deadline_ms(std::chrono::milliseconds time) {
  constexpr std::chrono::milliseconds least{1};
  constexpr std::chrono::milliseconds most{std::numeric_limits<std::uint32_t>::max()};
  return static_cast<std::uint32_t>(std::clamp(time, least, most).count());
}

}  // namespace

struct Server::State {
  ServerOptions options;
  server::SharedContext shared;
  std::unique_ptr<server::Scheme> scheme;  // once started
  std::mutex stopping;                     // stop() may come from any thread
  std::vector<Address> addresses;
};

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
  shared.drain_ms_max = deadline_ms(options.drain_limit);
  std::unique_ptr<server::Scheme> scheme = server::make_scheme(
      options.scheme, shared,
      {.listen = {.host = options.host, .port = options.port}, .workers = options.threads});
  if (scheme == nullptr) return std::unexpected("unknown scheme " + options.scheme);
  if (options.threads == 0) return std::unexpected(std::string("a server needs a worker thread"));
  Result<void, std::string> started = scheme->start();
  if (!started) return started;
  state_->addresses.clear();  // of an earlier start
  for (const auto& address : scheme->addresses()) {
    state_->addresses.push_back({address.host, address.port});
  }
  const std::lock_guard lock(state_->stopping);
  state_->scheme = std::move(scheme);
  return {};
}

const std::vector<Server::Address>& Server::addresses() const noexcept { return state_->addresses; }

void Server::stop() noexcept {
  const std::lock_guard lock(state_->stopping);
  if (state_->scheme != nullptr) state_->scheme->stop();
}

void Server::wait() {
  if (state_->scheme == nullptr) return;
  state_->scheme->join();
  const std::string summary = state_->scheme->summary();
  if (!summary.empty()) base::log_warning("{}", summary);
  const std::lock_guard lock(state_->stopping);
  state_->scheme.reset();
}

Result<void, std::string> Server::run(const std::function<void()>& started) {
  // Blocked before the threads start, so that they inherit it and sigwait() gets the signals.
  const sigset_t signals = stop_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  Result<void, std::string> begun = start();
  if (!begun) return begun;
  if (started) started();
  int signal = 0;
  ::sigwait(&signals, &signal);
  stop();
  std::atomic<bool> ended{false};
  std::thread second([&] {
    int again = 0;
    ::sigwait(&signals, &again);
    if (!ended.load()) stop();
  });
  state_->scheme->join();
  ended.store(true);
  ::pthread_kill(second.native_handle(), SIGTERM);
  second.join();
  wait();
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
