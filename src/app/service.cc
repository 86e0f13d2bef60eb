#include "app/service.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <limits>
#include <set>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "app/start_screen.h"
#include "app/system/start_thread.h"
#include "app/system/stop.h"
#include "app/system/terminal.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/values.h"
#include "net/tls/tls_memory.h"
#include "server/system_limits.h"

namespace h2server::app {

namespace {

// Beside the drain limit: what was cancelled unwinds, and what does not is left behind.
constexpr std::chrono::milliseconds stop_margin{5000};

void block(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
}

// Returns a descriptor that reports the signals that the program handles. They must be blocked.
base::Fd open_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD}) {
    sigaddset(&set, signal);
  }
  return base::Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Those whose paths may lead to others later.
std::vector<std::string> folders_of(const config::Configuration& configuration) {
  std::set<std::string> folders;
  for (const config::Site& site : configuration.sites) {
    folders.insert(site.root);
    folders.insert(site.upload_directory);
  }
  folders.erase("");
  return {folders.begin(), folders.end()};
}

// Returns false for a pipe: the shell may have made it from <(…), and reading it again would block.
bool can_be_read_again(const std::string& file) {
  std::error_code failure;
  return file.empty() || std::filesystem::is_regular_file(file, failure) ||
         !std::filesystem::exists(file, failure);
}

Stop cant_wait(int error) {
  return {exit_failed, fmt::format("can't wait for signals: {}", std::strerror(error))};
}

}  // namespace

Service::Service(int argc, char** argv)
    : argc_(argc), argv_(argv), program_(program_start(argc, argv)) {}

Service::~Service() = default;

int Service::run() {
  // One that comes before the program waits must not end it: SIGHUP may come at any time.
  block({SIGHUP, SIGUSR1, SIGUSR2});
  const Result<void, Stop> begun = begin();
  if (!begun) status_ = report(begun.error());
  serve_until_ended();
  base::flush_log();
  // Threads that were left behind may still run, so nothing that they use is destroyed.
  if (left_behind_) {
    std::_Exit(report({exit_failed, "stopped; what had not ended was left behind"}));
  }
  return status_;
}

Result<void, Stop> Service::begin() {
  Result<Inheritance, std::string> inherited = take_inheritance();
  if (!inherited) return std::unexpected(Stop{exit_wrong_use, inherited.error()});
  inherited_ = *std::move(inherited);
  server::raise_descriptor_limit();
  net::keep_tls_record_buffers();
  ::signal(SIGPIPE, SIG_IGN);  // a closed pipe behind standard output must not end the server
  ::signal(SIGXFSZ, SIG_IGN);  // nor an upload beyond RLIMIT_FSIZE: write() returns EFBIG
  Result<config::Configuration, Stop> configuration = parse_options(argc_, argv_);
  if (!configuration) return std::unexpected(configuration.error());
  const std::string& error_log = configuration->log.error_log;
  if (const int error = base::log_to_file(error_log); error != 0) {
    return std::unexpected(Stop{exit_wrong_use, fmt::format("can't open the error log {}: {}",
                                                            error_log, std::strerror(error))});
  }
  const Result<void, Stop> adopted = adopt_sockets();
  if (!adopted) return adopted;
  const std::uint16_t wanted_port = configuration->listeners.front().port;
  Result<std::unique_ptr<Generation>, Stop> made = make_generation(*std::move(configuration));
  if (!made) return std::unexpected(made.error());
  current_ = *std::move(made);
  sockets_.commit();
  watch_folders();
  const std::string& pid_file = current_->configuration().pid_file;
  const Result<void, std::string> written =
      pid_file.empty() ? Result<void, std::string>() : pid_file_.write(pid_file);
  if (!written) base::log_error("{}", written.error());
  inherited_.tell_ready();
  manager_.ready(describe_state());
  show_start(wanted_port);
  current_->begin_acme();
  return {};
}

// Those of a predecessor, or of the service manager.
Result<void, Stop> Service::adopt_sockets() {
  std::vector<ListeningSockets::Inherited> all = inherited_.listeners;
  const Result<std::vector<PassedSocket>, std::string> passed = passed_sockets();
  if (!passed) return std::unexpected(Stop{exit_failed, passed.error()});
  for (const PassedSocket& one : *passed) {
    all.push_back({.name = "", .descriptors = {one.descriptor}, .managed = true});
  }
  const Result<void, std::string> adopted = sockets_.adopt(all);
  if (!adopted) return std::unexpected(Stop{exit_failed, adopted.error()});
  return {};
}

// An acme-store may be slow, and the watchdog of a server that is read anew must not wait for it.
Result<Credentials, Stop> Service::prepare_while_alive(config::Configuration& configuration) {
  if (current_ == nullptr || manager_.watchdog_ms() == 0) return prepare_credentials(configuration);
  std::packaged_task<Result<Credentials, Stop>()> work(
      [&configuration] { return prepare_credentials(configuration); });
  std::future<Result<Credentials, Stop>> prepared = work.get_future();
  Result<std::thread, std::string> thread = start_thread([&work] { work(); });
  if (!thread) return prepare_credentials(configuration);
  const auto pause = [this] {
    return std::chrono::milliseconds(alive_due_ms_ - base::monotonic_ms());
  };
  while (prepared.wait_for(pause()) != std::future_status::ready) {
    if (base::monotonic_ms() >= alive_due_ms_) tell_alive();
  }
  thread->join();
  return prepared.get();
}

// Makes one that serves; if that fails, nothing has changed.
Result<std::unique_ptr<Generation>, Stop> Service::make_generation(
    config::Configuration configuration) {
  AsRead as_read{.server = configuration.server, .listeners = configuration.listeners};
  WatchedFolders folders(folders_of(configuration));
  Result<Credentials, Stop> credentials = prepare_while_alive(configuration);
  if (!credentials) return std::unexpected(credentials.error());
  // From now on they end the program in order; before, they end questions for passphrases.
  block({SIGINT, SIGTERM, SIGCHLD});
  if (!signals_.valid()) signals_ = open_signals();
  if (!end_arrived_.valid()) end_arrived_ = base::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!signals_.valid() || !end_arrived_.valid()) return std::unexpected(cant_wait(errno));
  // The processes of this scheme could neither tell of their requests nor be told of keys.
  const bool one_process = configuration.server.scheme != ServerScheme::process_per_connection;
  const bool uploads =
      std::ranges::any_of(configuration.sites, [](const auto& site) { return site.has_uploads(); });
  const bool first = current_ == nullptr;
  if (first && one_process)
    console_ = Console::open({.colour = shows_colour(), .uploads = uploads});
  Result<std::vector<ListenerOptions>, std::string> listeners = sockets_.open(configuration);
  if (!listeners) return std::unexpected(Stop{exit_failed, listeners.error()});
  auto made = std::make_unique<Generation>(
      std::move(configuration), *std::move(credentials), *std::move(listeners),
      Generation::Surroundings{
          .before = first ? nullptr : &current_->server(),
          .console = console_.get(),
          .acme_challenges = acme_challenges_,
          .run_tokens = first ? std::vector<ShownToken>() : current_->tokens()});
  Result<void, Stop> started = made->start();
  if (started) {
    as_read_ = std::move(as_read);
    folders.take_made();
    folder_watch_.watch(std::move(folders));
    return made;
  }
  await_end(std::move(made));
  return std::unexpected(std::move(started.error()));
}

void Service::show_start(std::uint16_t wanted_port) {
  const StartScreen screen =
      start_screen({current_->configuration(), current_->credentials(), wanted_port,
                    console_ != nullptr, current_->admin_url(), current_->tokens()},
                   current_->server());
  std::fputs(screen.text.c_str(), stdout);
  std::fflush(stdout);
  url_for_others_ = screen.url_for_others;
  start_console();
}

void Service::watch_folders() {
  // Its processes have the folders that this one had, and can't be told.
  if (as_read_.server.scheme == ServerScheme::process_per_connection) return;
  const Result<void, std::string> started = folder_watch_.start();
  if (!started) {
    base::log_warning("folders are not watched, so that SIGHUP is needed when one is replaced: {}",
                      started.error());
  }
}

// It lives as long as the program, and reports on the generation that serves.
void Service::start_console() {
  if (console_ == nullptr) return;
  console_->start(url_for_others_, [this] {
    const std::lock_guard lock(current_mutex_);
    return current_ != nullptr ? current_->server().report() : std::string("the server ends\n");
  });
}

// --- while it serves ---------------------------------------------------------------------------

void Service::serve_until_ended() {
  while (current_ != nullptr || !ending_.empty()) {
    pollfd watched[] = {
        {.fd = signals_.get(), .events = POLLIN, .revents = 0},
        {.fd = end_arrived_.get(), .events = POLLIN, .revents = 0},
        {.fd = successor_ ? successor_->ready.get() : -1, .events = POLLIN, .revents = 0},
        {.fd = folder_watch_.descriptor(), .events = POLLIN, .revents = 0}};
    const int count = ::poll(watched, std::size(watched), wait_ms());
    // ENOMEM: retried. EFAULT and EINVAL would be bugs.
    if (count < 0) ASSERT(errno == EINTR || errno == ENOMEM);
    if (count < 0) continue;
    signalfd_siginfo signal{};
    while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
      handle(static_cast<int>(signal.ssi_signo));
    }
    if (watched[1].revents != 0) take_ended();
    const std::int64_t now_ms = base::monotonic_ms();
    if (successor_ && (watched[2].revents != 0 || now_ms >= successor_due_ms_)) end_upgrade();
    if (watched[3].revents != 0) replaced_folder_ = folder_watch_.take_replaced();
    if (is_reload_wanted() && !successor_ && now_ms >= reload_from_ms_) {
      reload_asked_ ? reload() : open_replaced();
    }
    if (stop_due_ms_ != 0 && now_ms >= stop_due_ms_) stop();
    if (manager_.watchdog_ms() > 0 && now_ms >= alive_due_ms_) tell_alive();
  }
  if (console_ != nullptr) console_->stop();
}

// Until the next point in time at which there is something to do; -1: none.
int Service::wait_ms() const {
  std::int64_t due_ms = std::numeric_limits<std::int64_t>::max();
  if (successor_) due_ms = successor_due_ms_;
  // The successor has the sockets of now, and reads the configuration itself.
  if (is_reload_wanted() && !successor_) due_ms = std::min(due_ms, reload_from_ms_);
  if (stop_due_ms_ != 0) due_ms = std::min(due_ms, stop_due_ms_);
  if (manager_.watchdog_ms() > 0) due_ms = std::min(due_ms, alive_due_ms_);
  if (due_ms == std::numeric_limits<std::int64_t>::max()) return -1;
  constexpr std::int64_t most = std::numeric_limits<int>::max();  // it looks again then
  return static_cast<int>(std::clamp<std::int64_t>(due_ms - base::monotonic_ms(), 0, most));
}

void Service::handle(int signal) {
  switch (signal) {
    case SIGHUP:
      reopen_logs();
      reload_asked_ = stop_due_ms_ == 0;
      return;
    case SIGUSR1:
      if (current_ != nullptr) print_report();
      return;
    case SIGUSR2:
      if (current_ != nullptr && !successor_ && stop_due_ms_ == 0) upgrade();
      return;
    case SIGCHLD:
      if (current_ == nullptr || !current_->failed()) return;
      base::log_error("connections can't be accepted any more");
      status_ = exit_failed;
      break;
    case SIGINT:
    case SIGTERM:
      if (delay_stop()) return;
      break;
  }
  stop();
}

// Returns true if the server goes on for --shutdown-delay, to its end or the next signal.
bool Service::delay_stop() {
  if (current_ == nullptr || stop_due_ms_ != 0) return false;
  const config::Configuration& configuration = current_->configuration();
  const std::chrono::milliseconds delay = configuration.shutdown_delay;
  if (delay.count() == 0) return false;
  if (successor_) end_upgrade();
  if (current_ == nullptr) return false;  // the successor served already
  reload_asked_ = false;
  stop_due_ms_ = base::monotonic_ms() + delay.count();
  current_->announce_end();
  manager_.stopping("load balancers are given time to notice",
                    delay + configuration.server.drain_limit + stop_margin);
  base::log_info("stops in {}, when load balancers have noticed; a second signal stops it now",
                 config::write_duration(delay));
  return true;
}

// The first call drains, the second one cancels what is in flight.
void Service::stop() {
  stop_due_ms_ = 0;
  if (successor_) end_upgrade();
  for (Ending& one : ending_) one.generation->stop();
  if (current_ == nullptr) return;
  manager_.stopping("requests in flight are completed",
                    current_->configuration().server.drain_limit + stop_margin);
  current_->stop();
  // The workers stop first: a listener that is shut down without that looks like a failure.
  sockets_.refuse();
  await_end(replace_current(nullptr));
}

std::unique_ptr<Generation> Service::replace_current(std::unique_ptr<Generation> next) {
  silent_workers_.reset();  // of a server that ends, some may never answer
  const std::lock_guard lock(current_mutex_);
  return std::exchange(current_, std::move(next));
}

void Service::await_end(std::unique_ptr<Generation> generation) {
  constexpr std::size_t ending_max = 32;  // each has threads and memory of its own
  if (ending_.size() >= ending_max) {
    base::log_warning(
        "{} earlier configurations still have requests in flight: the oldest is given "
        "the time of --drain-timeout",
        ending_.size());
    ending_.front().generation->stop();
  }
  Ending& one = ending_.emplace_back();
  one.generation = std::move(generation);
  const auto wait = [this, &one] {
    one.left_behind = !one.generation->wait();
    one.ended.store(true);
    ::eventfd_write(end_arrived_.get(), 1);
  };
  try {
    one.waiting = std::thread(wait);
  } catch (const std::system_error&) {  // EAGAIN: no thread, so signals wait, too
    wait();
  }
}

void Service::take_ended() {
  eventfd_t ignored = 0;
  ::eventfd_read(end_arrived_.get(), &ignored);
  for (auto one = ending_.begin(); one != ending_.end();) {
    const auto next = std::next(one);
    if (one->ended.load()) {
      if (one->waiting.joinable()) one->waiting.join();
      left_behind_ = left_behind_ || one->left_behind;
      // Threads that were left behind use it to the end of the process.
      if (one->left_behind) static_cast<void>(one->generation.release());
      ending_.erase(one);
    }
    one = next;
  }
}

void Service::reopen_logs() {
  if (const int error = base::reopen_log(); error != 0) {
    base::log_error("can't open the error log anew: {}", std::strerror(error));
  }
  for (Ending& one : ending_) one.generation->server().reopen_logs();
  if (current_ != nullptr) current_->server().reopen_logs();
}

void Service::print_report() {
  std::istringstream lines(current_->server().report());
  for (std::string line; std::getline(lines, line);) base::log_info("{}", line);
}

// --- another configuration ---------------------------------------------------------------------

// Signals that come within a second of a reload lead to one more, so that generations do not pile
// up.
void Service::reload() {
  const std::int64_t begun_ms = begin_reload();
  if (current_ == nullptr) return;
  // Its processes hold their connections, and can't be told to end after their responses.
  if (current_->configuration().server.scheme == ServerScheme::process_per_connection) return;
  if (const std::string& file = current_->configuration().file; !can_be_read_again(file)) {
    base::log_warning("{} is no file that can be read again: only the logs were opened anew", file);
    return;
  }
  manager_.reloading();
  const Result<void, Stop> served = serve_next(parse_options(argc_, argv_));
  if (!served) {
    report(served.error());
    base::log_error("the configuration stays as it was, since the new one is wrong");
    manager_.ready("the last reload failed: " + served.error().text);
    return;
  }
  base::log_info(
      "the configuration was read anew in {} ms; requests in flight finish with the old one",
      base::monotonic_ms() - begun_ms);
}

// The configuration is not read: what somebody has changed in it may not be complete.
void Service::open_replaced() {
  const std::string folder = std::exchange(replaced_folder_, {});
  begin_reload();
  if (current_ == nullptr || stop_due_ms_ != 0) return;
  manager_.reloading();
  config::Configuration same = current_->configuration();
  same.server = as_read_.server;
  same.listeners = as_read_.listeners;
  const Result<void, Stop> fits = check_places_again(same);
  const Result<void, Stop> served =
      fits ? serve_next(std::move(same)) : std::unexpected(std::move(fits.error()));
  if (!served) {
    report(served.error());
    base::log_error("{} leads to another folder now, which can't be served; the one before stays",
                    folder);
    manager_.ready("a replaced folder can't be served: " + served.error().text);
    return;
  }
  base::log_info("{} leads to another folder now, which is served from now on", folder);
}

std::int64_t Service::begin_reload() {
  constexpr std::int64_t gap_ms = 1000;
  const std::int64_t begun_ms = base::monotonic_ms();
  reload_asked_ = false;
  reload_from_ms_ = begun_ms + gap_ms;
  return begun_ms;
}

// If it fails, nothing has changed.
Result<void, Stop> Service::serve_next(Result<config::Configuration, Stop> configuration) {
  Result<std::unique_ptr<Generation>, Stop> next =
      configuration ? make_generation(*std::move(configuration))
                    : std::unexpected(std::move(configuration.error()));
  if (next) {
    const std::string& error_log = (*next)->configuration().log.error_log;
    const int error = base::log_to_file(error_log);
    if (error != 0) {
      base::log_error("can't open the error log {}: {}", error_log, std::strerror(error));
    }
  } else {
    sockets_.close_opened();
    return std::unexpected(std::move(next.error()));
  }
  replaced_folder_.clear();  // it has opened what there is now
  std::unique_ptr<Generation> last = replace_current(*std::move(next));
  sockets_.commit();
  move_pid_file(last->configuration().pid_file);
  show_new_tokens(last->tokens());
  last->retire();
  await_end(std::move(last));
  current_->begin_acme();
  manager_.ready(describe_state());
  return {};
}

// The new configuration serves: programs find the process by its file from now on.
void Service::move_pid_file(const std::string& before) {
  const std::string& path = current_->configuration().pid_file;
  if (path == before) return;
  if (path.empty()) return pid_file_.remove();
  const Result<void, std::string> written = pid_file_.write(path);
  if (!written) base::log_error("{}", written.error());
}

void Service::show_new_tokens(const std::vector<ShownToken>& known) const {
  for (const ShownToken& one : current_->tokens()) {
    if (std::ranges::find(known, one.token, &ShownToken::token) != known.end()) continue;
    std::fputs(fmt::format("  token      {}{}\n", one.token,
                           one.host.empty() ? "" : " for uploads to " + one.host)
                   .c_str(),
               stdout);
  }
  std::fflush(stdout);
}

// --- the service manager -------------------------------------------------------------------------

std::string Service::describe_state() const {
  const config::Configuration& configuration = current_->configuration();
  return fmt::format("serves {} site{} on {} listener{}", configuration.sites.size(),
                     configuration.sites.size() == 1 ? "" : "s", configuration.listeners.size(),
                     configuration.listeners.size() == 1 ? "" : "s");
}

// Tells the watchdog only if every worker has run since the last time.
void Service::tell_alive() {
  alive_due_ms_ = base::monotonic_ms() + manager_.watchdog_ms();
  if (silent_workers_ != nullptr && silent_workers_->load() > 0) return;
  manager_.alive();
  silent_workers_.reset();
  if (current_ == nullptr) return;
  Server& server = current_->server();
  const unsigned workers = server.workers();
  silent_workers_ = std::make_shared<std::atomic<unsigned>>(workers);
  for (unsigned i = 0; i < workers; ++i) {
    const bool posted = server.post(i, [silent = silent_workers_] { silent->fetch_sub(1); });
    if (!posted) silent_workers_->fetch_sub(1);
  }
}

// --- the successor -----------------------------------------------------------------------------

void Service::upgrade() {
  constexpr std::int64_t start_ms_max = 60'000;
  if (console_ != nullptr) console_->stop();  // the terminal is the successor's
  current_->end_acme();                       // and so are the certificates
  Result<Successor, std::string> started = start_successor(program_, sockets_.all());
  if (!started) {
    base::log_error("the hot restart failed, and this process goes on: {}", started.error());
    go_on();
    return;
  }
  base::log_info("{} starts as process {}", program_.path, started->process);
  successor_ = *std::move(started);
  successor_due_ms_ = base::monotonic_ms() + start_ms_max;
}

// It serves, has failed, or takes too long.
void Service::end_upgrade() {
  const bool serves = has_succeeded(*successor_);
  const pid_t process = successor_->process;
  successor_.reset();
  if (!serves) {
    base::log_error("the successor, process {}, did not start; this one goes on", process);
    go_on();
    return;
  }
  base::log_info("process {} serves; this one ends with its last request", process);
  manager_.hand_over(process);
  if (current_ == nullptr) return;
  sockets_.leave();
  std::unique_ptr<Generation> last = replace_current(nullptr);
  last->retire();
  await_end(std::move(last));
}

// After an attempt that failed.
void Service::go_on() {
  const std::string& pid_file = current_ != nullptr ? current_->configuration().pid_file : "";
  // Written anew, so that h2server upgrade sees the end of the attempt.
  if (!pid_file.empty()) static_cast<void>(pid_file_.write(pid_file));
  if (current_ == nullptr) return;
  start_console();
  current_->begin_acme();
}

}  // namespace h2server::app
