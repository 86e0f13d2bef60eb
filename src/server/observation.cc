#include "server/observation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/text/secrets.h"
#include "base/text/text.h"
#include "h2server/authentication.h"
#include "h2server/forwarded.h"
#include "h2server/trace.h"

namespace h2server::server {

namespace {

observe::LineOptions line_options(const AccessLogOptions& options) noexcept {
  return {.format = options.format == AccessLogFormat::json ? observe::LineFormat::json
                                                            : observe::LineFormat::text,
          .queries = options.queries};
}

// "TLSv1.3" is "1.3" in the log.
std::string_view number_of_tls(std::string_view version) noexcept {
  constexpr std::string_view prefix = "TLSv";
  return version.starts_with(prefix) ? version.substr(prefix.size()) : version;
}

std::uint8_t number_of(Version version) noexcept {
  switch (version) {
    case Version::http_1_0:
      return 10;
    case Version::http_1_1:
      return 11;
    case Version::http_2:
      break;
  }
  return 20;
}

// What read_fields() looks for.
constexpr std::array<std::string_view, 3> logged_fields = {"referer", "user-agent", "traceparent"};

// Takes what the log wants of the request's fields in one pass.
void read_fields(const Fields& fields, AccessRecord& record) noexcept {
  for (const Field& field : fields) {
    std::string_view* wanted = nullptr;
    std::string_view name;
    switch (field.name.size()) {
      case 7:
        wanted = &record.referer;
        name = logged_fields[0];
        break;
      case 10:
        wanted = &record.user_agent;
        name = logged_fields[1];
        break;
      case 11:
        wanted = &record.trace_id;
        name = logged_fields[2];
        break;
      default:
        continue;
    }
    if (base::equals_ignoring_case(field.name, name)) *wanted = field.value;
  }
  // W3C Trace Context, 3.2.2: version, '-', 32 digits.
  if (record.trace_id.empty()) return;
  const bool valid = TraceContext::parse(record.trace_id).has_value();
  record.trace_id = valid ? record.trace_id.substr(3, 32) : std::string_view();
}

// Takes what middleware has found out about the request.
void read_attachments(const Request& request, AccessRecord& record) noexcept {
  if (const auto* const user = request.attached<AuthenticatedUser>()) record.user = user->name;
  if (const auto* const client = request.attached<ForwardedClient>()) {
    record.forwarded_client = client->address;
  }
  if (const auto* const trace = request.attached<TraceContext>()) {
    record.trace_id = trace->trace_id();
  }
}

}  // namespace

// --- a connection -----------------------------------------------------------------------------

ConnectionRecord::ConnectionRecord(WorkerObservation& worker, const ConnectionInfo& connection,
                                   Address client, observe::Protocol protocol)
    : worker_(worker),
      protocol_(protocol),
      opened_us_(base::monotonic_us()),
      client_(std::move(client)) {
  const std::optional<TlsInfo> tls = connection.tls();
  if (tls) tls_version_ = tls->version;
  const AccessLogOptions& log = worker_.all_.log_;
  members_ = observe::ConnectionMembers::make(line_options(log).format,
                                              {.address = client_.host,
                                               .port = client_.port,
                                               .tls_version = number_of_tls(tls_version_),
                                               .tls_group = tls ? tls->group : std::string_view()});
  worker_.count_opened(protocol_);
}

ConnectionRecord::~ConnectionRecord() { worker_.count_closed(protocol_); }

std::int64_t ConnectionRecord::now_us() const noexcept { return base::monotonic_us(); }

void ConnectionRecord::ended(const http::ExchangeState& exchange, std::uint32_t stream) noexcept {
  ++requests_;
  worker_.note(*this, exchange, stream);
}

std::optional<std::span<const std::string_view>> ConnectionRecord::fields_read() const noexcept {
  if (worker_.all_.hook_) return std::nullopt;
  return logged_fields;
}

// --- a worker ---------------------------------------------------------------------------------

WorkerObservation::WorkerObservation(Observation& all, observe::LogRing* ring,
                                     base::Counter* requests)
    : all_(all),
      ring_(ring),
      requests_(requests),
      formatter_(line_options(all.log_)),
      metrics_(all.hosts_.size()) {}

std::unique_ptr<ConnectionRecord> WorkerObservation::observe(const ConnectionInfo& connection,
                                                             Address client,
                                                             observe::Protocol protocol) {
  return std::make_unique<ConnectionRecord>(*this, connection, std::move(client), protocol);
}

std::unique_lock<std::mutex> WorkerObservation::lock() const {
  return all_.shared_ ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
}

void WorkerObservation::count(observe::Handshake result, std::string_view group) noexcept {
  const auto locked = lock();
  metrics_.numbers.handshake[static_cast<std::size_t>(result)].up();
  if (group.empty()) return;
  metrics_.numbers.group[static_cast<std::size_t>(observe::group_of(group))].up();
}

void WorkerObservation::count_opened(observe::Protocol protocol) noexcept {
  const auto locked = lock();
  metrics_.numbers.connections_opened[static_cast<std::size_t>(protocol)].up();
  metrics_.numbers.connections_open[static_cast<std::size_t>(protocol)].up();
}

void WorkerObservation::count_closed(observe::Protocol protocol) noexcept {
  const auto locked = lock();
  metrics_.numbers.connections_open[static_cast<std::size_t>(protocol)].down();
}

void WorkerObservation::count(const http::ConnectionError& error) noexcept {
  using From = http::ConnectionError::Flood;
  const auto locked = lock();
  observe::Flood flood = observe::Flood::other;
  switch (error.flood) {
    case From::none:
      return;
    case From::idle_frames:
      flood = observe::Flood::idle_frames;
      break;
    case From::resets:
      flood = observe::Flood::resets;
      break;
    case From::other:
      break;
  }
  metrics_.numbers.flood[static_cast<std::size_t>(flood)].up();
}

void WorkerObservation::count_reset(bool by_client) noexcept {
  const auto locked = lock();
  const auto kind = by_client ? observe::Reset::by_client : observe::Reset::by_server;
  metrics_.numbers.reset[static_cast<std::size_t>(kind)].up();
}

// The wall clock may be set: its distance is taken again each second.
std::int64_t WorkerObservation::unix_us_at(std::int64_t us) noexcept {
  constexpr std::int64_t second_us = 1'000'000;
  if (offset_at_us_ == 0 || us - offset_at_us_ >= second_us) {
    unix_offset_us_ = base::unix_us() - base::monotonic_us();
    offset_at_us_ = us;
  }
  return us + unix_offset_us_;
}

void WorkerObservation::note(const ConnectionRecord& connection,
                             const http::ExchangeState& exchange, std::uint32_t stream) noexcept {
  if (all_.stopped_.load(std::memory_order_relaxed)) return;
  const auto locked = lock();
  const http::Observed& observed = exchange.observed;
  const RequestHead& head = exchange.head;
  const std::uint32_t host = exchange.host != nullptr ? exchange.host->number : 0;
  const std::int64_t now_us = base::monotonic_us();
  AccessRecord record{.begun_unix_us = unix_us_at(observed.begun_us),
                      .duration_us = now_us - observed.begun_us,
                      .first_byte_us = -1,
                      .status = observed.responded ? exchange.response.status() : 0,
                      .response_bytes = exchange.outgoing.appended(),
                      .request_bytes = observed.received,
                      .stream = stream,
                      .version = number_of(head.version),
                      .encrypted = head.encrypted,
                      .cut_off = observed.cut_off,
                      .method = head.method_name,
                      .target = head.target,
                      .authority = head.authority};
  if (observed.responded) {
    const bool later = observed.first_byte_us != 0;
    record.first_byte_us = (later ? observed.first_byte_us : now_us) - observed.begun_us;
  }
  if (requests_ != nullptr) requests_->up();
  if (all_.counts_) metrics_.count_request(host, record);
  const std::uint32_t target = all_.targets_[host];
  const bool logs = ring_ != nullptr && target != Observation::no_target;
  if (!logs && !all_.hook_) return;
  read_fields(head.fields, record);
  record.target = base::hide_secrets(record.target, shown_target_);
  record.referer = base::hide_secrets(record.referer, shown_referer_);
  if (exchange.request) read_attachments(*exchange.request, record);
  if (exchange.route != nullptr) record.route = *exchange.route;
  record.site = all_.hosts_[host];
  record.connection = connection.members().text();
  if (logs) {
    ring_->append(observe::LineFormatter::bytes_max(record), target,
                  [&](char* to) { return formatter_.write(record, to); });
  }
  if (all_.hook_) {
    all_.hook_(exchange.request ? &*exchange.request : nullptr, record);
  }
}

// --- all --------------------------------------------------------------------------------------

Result<std::unique_ptr<Observation>, std::string> Observation::open(
    const ServerOptions& options, const http::Composition* composition, bool shared_by_threads) {
  const AccessLogOptions& log = options.access_log;
  const bool logs = !log.target.empty() || !log.hosts.empty();
  if (!logs && !options.metrics && !options.exchange_hook) return nullptr;
  if (options.scheme == ServerScheme::process_per_connection) {
    return std::unexpected(
        std::string("the access log, metrics and hooks do not work with a process per connection"));
  }
  auto made = std::make_unique<Observation>(options, shared_by_threads);
  made->logs_ = logs;
  made->hosts_.emplace_back();
  if (composition != nullptr) {
    for (const http::HostRoutes& host : composition->hosts.hosts()) {
      made->hosts_.push_back(host.name);
    }
  }
  const Result<void, std::string> opened = made->open_targets(composition);
  if (!opened) return std::unexpected(opened.error());
  if (logs) {
    const Result<void> started = made->writer_.start();
    if (!started) return std::unexpected("can't start the log: " + started.error().message());
  }
  return made;
}

Result<std::uint32_t, std::string> Observation::open_target(const std::string& target) {
  const AccessLogOptions& log = log_;
  if (target.empty()) return no_target;
  const Result<std::uint32_t> added = writer_.add_target(
      {.path = target, .rotate_bytes = log.rotate_bytes, .rotated_files_max = log.keep});
  if (added) return *added;
  return std::unexpected(
      fmt::format("can't open the access log {}: {}", target, added.error().message()));
}

Result<void, std::string> Observation::open_targets(const http::Composition* composition) {
  const Result<std::uint32_t, std::string> usual = open_target(log_.target);
  if (!usual) return std::unexpected(usual.error());
  targets_.assign(hosts_.size(), *usual);
  for (const HostLog& log : log_.hosts) {
    const http::HostRoutes* const host =
        composition != nullptr ? composition->hosts.find(log.host) : nullptr;
    if (host == nullptr) return std::unexpected("an access log of an unknown host: " + log.host);
    const Result<std::uint32_t, std::string> own = open_target(log.target);
    if (!own) return std::unexpected(own.error());
    targets_[host->number] = *own;
  }
  return {};
}

WorkerObservation& Observation::join(base::Counter& requests) {
  const std::lock_guard lock(mutex_);
  if (shared_ && !workers_.empty()) return workers_.front();
  observe::LogRing* ring = nullptr;
  if (logs_) {
    // The threads that share it take turns by WorkerObservation's own lock.
    const Result<observe::LogRing*> made = writer_.make_ring(observe::LogRing::Sharing::one_thread);
    if (made) {
      ring = *made;
    } else {
      base::log_error("no queue for the access log of a worker: {}", made.error().message());
    }
  }
  return workers_.emplace_back(*this, ring, shared_ ? nullptr : &requests);
}

observe::Totals Observation::totals() const {
  observe::Totals totals;
  totals.sites.resize(hosts_.size());
  const std::lock_guard lock(mutex_);
  for (const WorkerObservation& worker : workers_) {
    worker.metrics().add_to(totals);
  }
  return totals;
}

std::size_t Observation::log_queue_bytes() const {
  std::size_t bytes = 0;
  const std::lock_guard lock(mutex_);
  for (const WorkerObservation& worker : workers_) {
    if (worker.ring_ != nullptr) bytes += worker.ring_->size();
  }
  return bytes;
}

std::vector<observe::TopPath> Observation::watch_paths(std::size_t count_max) {
  std::vector<observe::TopPath> paths;
  const std::lock_guard lock(mutex_);
  watched_us_ = base::monotonic_us();
  for (WorkerObservation& worker : workers_) {
    worker.metrics().watch(true);
    std::ranges::move(worker.metrics().top_paths().all(), std::back_inserter(paths));
  }
  return observe::TopPaths::merge(std::move(paths), count_max);
}

void Observation::end_idle_watch() {
  constexpr std::int64_t idle_us_max = 60'000'000;
  const std::lock_guard lock(mutex_);
  if (watched_us_ == 0 || base::monotonic_us() - watched_us_ < idle_us_max) return;
  watched_us_ = 0;
  for (WorkerObservation& worker : workers_) {
    worker.metrics().watch(false);
    worker.metrics().top_paths().clear();
  }
}

}  // namespace h2server::server
