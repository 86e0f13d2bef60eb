#include "app/generation.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "app/acme/acme_http.h"
#include "app/acme/acme_setup.h"
#include "app/certificates/passphrase.h"
#include "app/site.h"
#include "app/start_checks.h"
#include "base/log.h"
#include "server/system_limits.h"

namespace h2server::app {

namespace {

constexpr int failed_to_start = 1;  // exit status

void remove_temporary(const Credentials& credentials) {
  std::error_code ignored;
  if (credentials.temporary_directory.empty()) return;
  std::filesystem::remove_all(credentials.temporary_directory, ignored);
}

AccessLogOptions access_log(const config::Configuration& configuration) {
  AccessLogOptions log = configuration.server.access_log;
  log.format = configuration.log.format == config::LogFormat::json ? AccessLogFormat::json
                                                                   : AccessLogFormat::text;
  log.queries = configuration.log.queries;
  log.rotate_bytes = configuration.log.rotate_bytes;
  log.keep = configuration.log.keep;
  log.target = configuration.log.usual;
  const auto logs_requests = [](const config::Site& site) { return !site.access_log.empty(); };
  const bool logs = !log.target.empty() || std::ranges::any_of(configuration.sites, logs_requests);
  for (const config::Site& site : configuration.sites) {
    if (site.hosts.empty()) {
      log.target = site.access_log;
    } else if (logs) {
      log.hosts.push_back({.host = site.hosts.front(), .target = site.access_log});
    }
  }
  return log;
}

// What the library's server gets of the configuration.
ServerOptions server_options(const config::Configuration& configuration,
                             std::vector<ListenerOptions> listeners,
                             const AcmeChallenges& challenges, std::optional<Traces>& traces) {
  ServerOptions server = configuration.server;
  server.listeners = std::move(listeners);
  server.listeners.resize(configuration.listeners.size());  // without the admin's
  server.trusted_proxies = configuration.trusted_proxies;
  server.key_passphrase = ask_passphrase;
  server.metrics = !configuration.admin.address.empty();
  if (server.memory_max == 0) server.memory_max = server::usual_memory_max();  // also at a reload
  if (!configuration.trace.endpoint.empty()) {
    traces.emplace(configuration.trace, configuration.log.queries);
    server.exchange_hook = traces->hook();
  }
  server.access_log = access_log(configuration);
  if (std::ranges::any_of(configuration.sites, &config::Site::acme)) {
    server.tls_challenges = challenges.tls();
  }
  return server;
}

}  // namespace

Generation::Generation(config::Configuration configuration, Credentials credentials,
                       std::vector<ListenerOptions> listeners, Surroundings surroundings)
    : configuration_(std::move(configuration)),
      credentials_(std::move(credentials)),
      surroundings_(std::move(surroundings)),
      server_(server_options(configuration_, listeners, surroundings_.acme_challenges, traces_)) {
  if (surroundings_.before != nullptr) server_.resume_sessions_of(*surroundings_.before);
  if (traces_) server_.use(traces_->sampling());
  if (!configuration_.admin.address.empty()) {
    admin_.emplace(configuration_, std::move(listeners.back()), server_);
  }
  watch_certificates();
}

void Generation::watch_certificates() {
  const ServerOptions& options = configuration_.server;
  if (std::ranges::all_of(configuration_.listeners, &config::Listener::cleartext)) return;
  if (options.scheme == ServerScheme::process_per_connection) return;  // it can't be told
  if (!credentials_.temporary_directory.empty()) return;  // these files are removed once loaded
  CertificateWatchOptions watch{.files = certificate_files_of(options),
                                .other_files = options.ticket_key_files};
  watch.reload = [this] {
    Result<void, std::string> loaded = server_.reload_certificates();
    if (loaded && admin_) admin_->read_certificates();
    return loaded;
  };
  if (const std::optional<AcmeOptions> acme = acme_options(configuration_, {})) {
    for (const AcmeSite& site : acme->sites) watch.renewed.insert(site.files.certificate);
  }
  certificates_.emplace(std::move(watch));
}

Generation::~Generation() { remove_temporary(credentials_); }

Result<void, Stop> Generation::start() {
  Result<std::vector<ShownToken>, Stop> tokens =
      add_sites({configuration_, surroundings_.console, hooks_, stores_, surroundings_.run_tokens,
                 surroundings_.acme_challenges},
                server_);
  if (!tokens) return std::unexpected(std::move(tokens.error()));
  tokens_ = *std::move(tokens);
  std::vector<std::string> digests;
  Result<void, std::string> started = prepare(digests);
  if (started) {
    remove_temporary(credentials_);
    started = start_others();
    if (started) return {};
    stop();  // drains: what clients have begun is completed
  }
  std::error_code ignored;
  // Nobody knows their tokens.
  for (const std::string& file : digests) std::filesystem::remove(file, ignored);
  return std::unexpected(Stop{
      failed_to_start, with_option(certificate_files_of(configuration_.server), started.error())});
}

// Starts the server last: once that accepts, a failure would have served a configuration that is
// refused. `digests` are the files that it makes.
Result<void, std::string> Generation::prepare(std::vector<std::string>& digests) {
  const bool forks = configuration_.server.scheme == ServerScheme::process_per_connection;
  Result<void, std::string> done;
  if (!forks) done = hooks_.start();  // a fork would copy the locks that their threads hold
  for (const ShownToken& token : tokens_) {
    if (done) done = keep_digest(token);
    if (done && !token.file.empty()) digests.push_back(token.file);
  }
  return done ? server_.start() : done;
}

// The server runs, which these need. They fail only if the system has no more descriptors, threads
// or processes for them.
Result<void, std::string> Generation::start_others() {
  const bool forks = configuration_.server.scheme == ServerScheme::process_per_connection;
  if (traces_) traces_->start();
  Result<void, std::string> started;
  if (forks) started = hooks_.start();
  if (started && admin_) started = admin_->start();
  if (started && certificates_) started = certificates_->start();
  return started;
}

void Generation::begin_acme() {
  std::optional<AcmeOptions> options = acme_options(configuration_, [this] {
    const Result<void, std::string> loaded = server_.reload_certificates();
    if (!loaded) base::log_error("acme: can't use a new certificate: {}", loaded.error());
  });
  if (!options) return;
  Result<AcmeSharing, std::string> sharing = open_sharing(configuration_);
  if (!sharing) return base::log_error("acme: no certificates are ordered: {}", sharing.error());
  options->sharing = *std::move(sharing);
  acme_.emplace(*std::move(options), make_acme_client(configuration_.acme.ca_file),
                surroundings_.acme_challenges);
  const Result<void, std::string> started = acme_->start();
  if (!started) base::log_error("{}", started.error());
}

void Generation::stop() noexcept {
  end_acme();
  server_.stop();
}

void Generation::retire() noexcept {
  end_acme();
  certificates_.reset();
  server_.retire();
  if (admin_) admin_->stop();  // the operator sees the one that serves
  admin_.reset();
}

bool Generation::wait() {
  certificates_.reset();
  const bool all_ended = server_.wait();
  if (admin_) admin_->stop();
  if (traces_) traces_->stop();
  hooks_.stop();
  stores_.stop();
  return all_ended;
}

}  // namespace h2server::app
