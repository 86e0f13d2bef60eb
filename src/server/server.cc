#include "h2server/server.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "base/log.h"
#include "base/memory/memory_budget.h"
#include "base/out_of_memory.h"
#include "file/open_beneath.h"
#include "http/file_head.h"
#include "io/engine.h"
#include "server/accept/listeners.h"
#include "server/schemes/scheme.h"
#include "server/server_state.h"
#include "server/system_limits.h"
#include "server/ticket_key_file.h"

namespace h2server {

namespace {

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

// Blocks signals in this thread and in threads that it starts. The destructor discards pending
// signals of `consumed` and restores the mask.
class BlockedSignals {
 public:
  BlockedSignals(const sigset_t& blocked, const sigset_t& consumed) : consumed_(consumed) {
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() {
    constexpr timespec at_once{};
    while (::sigtimedwait(&consumed_, nullptr, &at_once) >= 0 || errno == EINTR) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_;
  sigset_t consumed_;
};

using Tls = std::shared_ptr<const net::TlsContext>;

// Returns null if the server uses no TLS. `previous` may be null, too.
Result<Tls, std::string> open_tls(const ServerOptions& options,
                                  const std::vector<ListenerOptions>& listeners,
                                  const net::TlsContext* previous) {
  const bool asks = options.client_certificates != ClientCertificates::none;
  if (asks && options.client_ca_file.empty()) {
    return std::unexpected("client_certificates need client_ca_file: the authorities to trust");
  }
  if (!asks && !options.client_ca_file.empty()) {
    return std::unexpected("client_ca_file has no effect without client_certificates");
  }
  if (std::ranges::all_of(listeners, &ListenerOptions::cleartext)) {
    if (asks) return std::unexpected("client_certificates need TLS, and the server is cleartext");
    return Tls();
  }
  net::TlsOptions wanted = net::tls_options_of(options);
  for (const std::string& file : options.ticket_key_files) {
    Result<std::string, std::string> secret = server::read_ticket_key(file);
    if (!secret) return std::unexpected(std::move(secret.error()));
    wanted.ticket_secrets.push_back(*std::move(secret));
  }
  if (previous != nullptr) wanted.passphrase = {};  // nobody waits to be asked
  Result<Tls, std::string> tls = net::TlsContext::open(wanted, previous);
  if (!tls) return tls;
  for (const std::string& warning : (*tls)->warnings()) base::log_warning("{}", warning);
  return tls;
}

unsigned workers_of(const server::SchemeKind& kind, const ServerOptions& options) {
  return options.threads == 0 ? kind.workers : options.threads;
}

// Of the process, once these options are in force.
std::uint64_t memory_limit(const ServerOptions& options) {
  const std::uint64_t present = base::MemoryBudget::of_process().limit();
  if (options.memory_max != 0) return options.memory_max;
  return present != base::MemoryBudget::no_limit ? present : server::usual_memory_max();
}

// Content that clients may send in advance waits in memory if handlers don't read it.
std::int64_t windows_gain_max(const ServerOptions& options) {
  constexpr std::uint64_t parts = 4;  // of what clients may hold
  const auto most = static_cast<std::int64_t>(memory_limit(options) / parts);
  return std::min<std::int64_t>(options.limits.windows_gain_bytes_max, most);
}

// With a thread or a process for each.
unsigned connections_at_once(const server::SchemeKind& kind, const ServerOptions& options) {
  if (options.connections_max != 0) return options.connections_max;
  constexpr std::uint64_t usual = 512;
  if (kind.scheme != ServerScheme::process_per_connection) return usual;
  // A process takes up to 1 MiB of its own. The limit is usually a quarter of the memory that there
  // is, so that all take half of it.
  constexpr std::uint64_t process_bytes = 512 * 1024;
  const std::uint64_t most = memory_limit(options) / process_bytes;
  return static_cast<unsigned>(std::clamp<std::uint64_t>(most, 1, usual));
}

server::SchemeOptions scheme_options(const server::SchemeKind& kind, const ServerOptions& options,
                                     std::vector<ListenerOptions> listeners) {
  return {.listeners = std::move(listeners),
          .workers = workers_of(kind, options),
          .connections_max = connections_at_once(kind, options),
          .queue_size = std::max(options.queue_size, 1U),
          .refuse_when_full = options.refuse_when_full};
}

// Returns how many connections there are descriptors for, beside files, listeners and engines.
unsigned connections_of_descriptors(unsigned workers) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);  // fails only for an invalid argument
  constexpr rlim_t most = 1'000'000;
  const rlim_t descriptors = std::min(limit.rlim_cur, most);
  // Mapped files, and per worker an engine, listeners and files that are being opened.
  const rlim_t files = file::Cache::of_process().mapped_max() + 32 * (rlim_t{workers} + 1);
  return static_cast<unsigned>(descriptors - std::min(descriptors / 4, files));
}

server::AdmissionLimits admission_limits(const server::SchemeKind& kind,
                                         const ServerOptions& options) {
  server::AdmissionLimits limits{.per_address_max = options.connections_per_address_max};
  if (kind.per_connection) return limits;  // beyond connections_max, connections wait
  limits.connections_max = options.connections_max;
  if (kind.blocking) return limits;
  if (limits.connections_max == 0) {
    // An idle connection of HTTP/2 with TLS takes about as much.
    constexpr std::uint64_t connection_bytes = 8 * 1024;
    const std::uint64_t most = memory_limit(options) / connection_bytes;
    const unsigned wanted = connections_of_descriptors(workers_of(kind, options));
    limits.connections_max = static_cast<unsigned>(std::min<std::uint64_t>(wanted, most));
  }
  limits.shedding_max = std::max(limits.connections_max / 16, 16U);
  if (limits.per_address_max == 0) {
    limits.per_address_max = std::max(limits.connections_max / 2, 1U);
  }
  return limits;
}

// What threads that were left behind still use. Never freed, but reachable, so that leak checkers
// accept it.
struct LeftBehind {
  std::unique_ptr<server::Scheme> scheme;
  std::unique_ptr<server::SharedContext> shared;
};
std::deque<LeftBehind>& left_behind() {
  static auto* const all = std::make_unique<std::deque<LeftBehind>>().release();
  return *all;
}

}  // namespace

void Server::State::print_report() const {
  std::istringstream lines(scheme->report());
  for (std::string line; std::getline(lines, line);) base::log_info("{}", line);
}

// Called by a program that has renamed them.
void Server::State::reopen_logs() const {
  {
    const std::lock_guard lock(mutex);  // the server may be at its end
    if (shared == nullptr) return;
    if (shared->observation != nullptr) shared->observation->reopen_logs();
  }
  if (const int error = base::reopen_log(); error != 0) {
    base::log_error("can't open the error log anew: {}", std::strerror(error));
  }
}

// Waits until a signal asks to stop. Returns false if the scheme has failed instead.
bool Server::State::wait_for_stop(const sigset_t& signals) const {
  for (;;) {
    int signal = 0;
    ::sigwait(&signals, &signal);
    if (signal == SIGUSR1) {
      print_report();
    } else if (signal == SIGHUP) {
      reopen_logs();
    } else if (signal != SIGCHLD) {
      return true;
    } else if (scheme->failed()) {
      return false;
    }
  }
}

// Waits until the server has ended; another signal cancels what still runs. Returns false if it
// gave up.
bool Server::State::join_until_second_signal(Server& server, const sigset_t& signals) const {
  std::atomic<bool> ended{false};
  std::thread second;
  try {
    second = std::thread([&] {
      if (wait_for_stop(signals) && !ended.load()) server.stop();
    });
  } catch (const std::system_error&) {  // EAGAIN: no thread; the drain limit still holds
  }
  const bool all_ended = scheme->join();
  ended.store(true);
  if (!second.joinable()) return all_ended;
  ::pthread_kill(second.native_handle(), SIGTERM);
  second.join();
  return all_ended;
}

void Server::State::check_usable() const {
  if (shared == nullptr)
    throw std::logic_error("this server left handlers behind and can't be used again");
}

// Called once the scheme was joined.
void Server::State::end(bool all_ended) {
  const std::string summary = scheme->summary();
  if (!summary.empty()) base::log_warning("{}", summary);
  scheme->remove_socket_files();
  if (shared->observation != nullptr) shared->observation->stop();
  base::flush_log();
  // Destroyed without the lock: what was posted and not called may use the server.
  std::unique_ptr<server::Scheme> ended;
  const std::lock_guard lock(mutex);
  stops = 0;
  mailboxes.clear();
  if (all_ended) {
    ended = std::move(scheme);
  } else {
    left_behind().push_back({std::move(scheme), std::move(shared)});
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

Result<void, std::string> Server::State::prepare() {
  if (!options.root.empty()) {
    auto folder = file::Folder::open(options.root, {.make_file = http::make_file});
    if (!folder) {
      return std::unexpected("can't open the root " + options.root + ": " +
                             std::strerror(folder.error()));
    }
    shared->root = *std::move(folder);
  }
  if (std::string problem = problem_of(options.limits); !problem.empty()) {
    return std::unexpected(std::move(problem));
  }
  if (options.memory_max != 0 && options.memory_max < server::memory_max_least) {
    return std::unexpected(
        fmt::format("memory_max is {}, at least {}", options.memory_max, server::memory_max_least));
  }
  if (options.serve_when_tight) {
    if (shared->composition == nullptr) shared->composition = std::make_unique<http::Composition>();
    shared->composition->serves_when_tight = true;
  }
  shared->limits = options.limits;
  shared->blocking_calls.set_limits({.threads_max = std::max(options.blocking_threads_max, 1U),
                                     .waiting_max = options.blocking_queue_max});
  return {};
}

Result<void, std::string> Server::start() {
  state_->check_usable();
  if (state_->scheme != nullptr) throw std::logic_error("start() called while the server runs");
  if (std::get_new_handler() == nullptr) std::set_new_handler(base::out_of_memory);
  // Copies of files can't be reclaimed as the page cache can.
  file::Cache::of_process().limit_snapshots(server::memory_allowed() / 8);
  file::Cache::of_process().limit_held(server::memory_allowed() / 8);
  const ServerOptions& options = state_->options;
  server::SharedContext& shared = *state_->shared;
  if (file::probe_open_beneath() != 0) {
    return std::unexpected("this kernel lacks openat2, which keeps paths inside the root: "
                           "h2server needs Linux 5.6 or newer");
  }
  if (Result<void, std::string> prepared = state_->prepare(); !prepared) return prepared;
  Result<std::vector<ListenerOptions>, std::string> listeners = server::listeners_of(options);
  if (!listeners) return std::unexpected(std::move(listeners.error()));
  Result<base::Networks, std::string> trusted = base::Networks::parse(options.trusted_proxies);
  if (!trusted) return std::unexpected("trusted_proxies: " + trusted.error());
  shared.trusted_proxies = *std::move(trusted);
  shared.usual_listener = server::kind_of(listeners->front(), 0);
  auto observation = server::Observation::open(options, shared.composition.get(),
                                               server::kind_of(options.scheme).blocking);
  if (!observation) return std::unexpected(std::move(observation.error()));
  shared.observation = *std::move(observation);
  auto tls = open_tls(options, *listeners, state_->previous_tls.get());
  if (!tls) return std::unexpected(tls.error());
  shared.tls.set(*std::move(tls));
  state_->previous_tls.reset();
  if (!http::h2::is_built_in(options.http2)) {
    return std::unexpected("this build has no libnghttp2: it was made without H2SERVER_NGHTTP2");
  }
  shared.multiplexed.make_session = http::h2::maker_of(options.http2);
  shared.drain_ms_max = io::deadline_ms(options.drain_limit);
  shared.windows.reset(windows_gain_max(options));
  const server::SchemeKind& kind = server::kind_of(options.scheme);
  if (options.foreign_loop &&
      (options.scheme != ServerScheme::reuseport || options.threads > 1 ||
       options.io == IoEngine::io_uring || options.io == IoEngine::blocking)) {
    return std::unexpected(
        std::string("a foreign loop drives one worker of the scheme reuseport, on epoll"));
  }
  const IoEngine wanted = options.foreign_loop ? IoEngine::epoll : options.io;
  Result<server::EngineTaken, std::string> engine = server::take_engine(kind, wanted);
  if (!engine) return std::unexpected(engine.error());
  shared.engine = engine->wanted;
  shared.foreign_loop = options.foreign_loop;
  shared.admission.set_limits(admission_limits(kind, options));
  shared.give_up.reset();
  std::unique_ptr<server::Scheme> scheme =
      kind.make(shared, scheme_options(kind, options, *std::move(listeners)));
  // The new threads leave the operator's signals to the program's own threads.
  const BlockedSignals blocked(set_of({SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD}), set_of({}));
  base::MemoryBudget& memory = base::MemoryBudget::of_process();
  const std::uint64_t limit_before = memory.limit();
  memory.set_limit(memory_limit(options));  // processes that the scheme starts inherit it
  Result<void, std::string> started = scheme->start();
  if (!started) {
    memory.set_limit(limit_before);
    return started;
  }
  state_->addresses = scheme->addresses();
  state_->engine = {std::move(engine->name), std::move(engine->reason)};
  const std::lock_guard lock(state_->mutex);
  state_->scheme = std::move(scheme);
  state_->mailboxes = state_->scheme->mailboxes();
  state_->start_early_tasks();
  return {};
}

void Server::resume_sessions_of(const Server& other) {
  state_->check_not_running();
  const std::lock_guard lock(other.state_->mutex);
  state_->previous_tls =
      other.state_->shared != nullptr ? other.state_->shared->tls.get() : nullptr;
}

Result<void, std::string> Server::reload_certificates() {
  const std::lock_guard turn(state_->certificates_mutex);
  Tls previous;
  {
    const std::lock_guard lock(state_->mutex);  // the server may be at its end
    if (state_->shared != nullptr) previous = state_->shared->tls.get();
  }
  if (previous == nullptr) return {};
  const ServerOptions& options = state_->options;
  if (options.scheme == ServerScheme::process_per_connection) {
    return std::unexpected("a process for each connection can't be told; restart the server");
  }
  const Result<std::vector<ListenerOptions>, std::string> listeners = server::listeners_of(options);
  if (!listeners) return std::unexpected(listeners.error());
  Result<Tls, std::string> tls = open_tls(options, *listeners, previous.get());
  if (!tls) return std::unexpected(std::move(tls.error()));
  const std::lock_guard lock(state_->mutex);
  if (state_->shared != nullptr) state_->shared->tls.set(*std::move(tls));
  return {};
}

int Server::descriptor() const noexcept {
  const server::EngineThread* const polled =
      state_->scheme != nullptr ? state_->scheme->polled() : nullptr;
  return polled != nullptr ? polled->descriptor() : -1;
}

void Server::poll() {
  if (state_->scheme == nullptr) return;
  if (server::EngineThread* const polled = state_->scheme->polled()) polled->poll();
}

bool Server::ended() const noexcept {
  if (state_->scheme == nullptr) return true;
  const server::EngineThread* const polled = state_->scheme->polled();
  return polled != nullptr && polled->ended();
}

const std::vector<Address>& Server::addresses() const noexcept { return state_->addresses; }

const Server::Engine& Server::engine() const noexcept { return state_->engine; }

std::string Server::report() const {
  const std::lock_guard lock(state_->mutex);
  return state_->scheme == nullptr ? std::string() : state_->scheme->report();
}

bool Server::failed() noexcept { return state_->scheme != nullptr && state_->scheme->failed(); }

void Server::retire() noexcept {
  {
    const std::lock_guard lock(state_->mutex);
    const bool runs = state_->scheme != nullptr && state_->stops == 0;
    if (!runs || state_->scheme->retire()) return;
  }
  stop();
}

void Server::stop() noexcept {
  const std::lock_guard lock(state_->mutex);
  if (state_->scheme == nullptr) return;
  std::chrono::milliseconds limit{0};
  if (state_->stops++ == 0) limit = std::chrono::milliseconds(state_->shared->drain_ms_max);
  state_->shared->give_up.at(server::GiveUp::Clock::now() + limit + server::GiveUp::unwinding);
  state_->scheme->stop();
}

bool Server::wait() {
  if (state_->scheme == nullptr) return true;
  const bool all_ended = state_->scheme->join();
  state_->end(all_ended);
  return all_ended;
}

Result<void, std::string> Server::run(const std::function<void()>& started) {
  if (state_->options.foreign_loop) {
    return std::unexpected(
        std::string("run() has a loop of its own: a foreign loop calls start()"));
  }
  // Blocked before the threads start, so that they inherit the mask and sigwait() gets the signals.
  const sigset_t signals = set_of({SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD});
  const sigset_t while_stopping = set_of({SIGINT, SIGTERM, SIGHUP, SIGUSR1});
  const BlockedSignals blocked(signals, while_stopping);
  Result<void, std::string> begun = start();
  if (!begun) return begun;
  try {
    if (started) started();
  } catch (...) {
    stop();
    stop();
    wait();
    throw;
  }
  const bool asked = state_->wait_for_stop(signals);
  stop();
  const bool all_ended = state_->join_until_second_signal(*this, while_stopping);
  state_->end(all_ended);
  if (!all_ended)
    return std::unexpected(std::string("stopped; what had not ended was left behind"));
  if (!asked) return std::unexpected(std::string("connections can't be accepted any more"));
  return {};
}

}  // namespace h2server
