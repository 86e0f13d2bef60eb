#include "app/admin/admin.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "app/admin/admin_access.h"
#include "app/admin/pages.h"
#include "app/admin/status_json.h"
#include "app/admin/store_metrics.h"
#include "base/clock.h"
#include "h2server/blocking.h"
#include "h2server/event_stream.h"
#include "h2server/timing.h"
#include "net/certs/tls_inspection.h"
#include "server/schemes/scheme.h"

namespace h2server::app {

namespace {

double now_s() { return static_cast<double>(base::unix_us()) / 1e6; }

struct Certificate {
  CertificateRow row;  // without the days
  std::int64_t end_s = 0;
};

std::vector<Certificate> certificates_of(const config::Configuration& configuration) {
  std::vector<Certificate> found;
  std::set<std::string> known;  // sites may share one
  const auto add = [&](const std::string& site, const std::string& file) {
    if (!known.insert(file).second) return;
    const auto facts = net::inspect_certificate(file);
    if (facts) found.push_back({{site, file, facts->names, 0}, facts->end_s});
  };
  const bool tls = !std::ranges::all_of(configuration.listeners, &config::Listener::cleartext);
  if (!tls) return found;
  const ServerOptions& server = configuration.server;
  add("", server.certificate_file);
  for (const CertificateFiles& one : server.more_certificates) add("", one.certificate_file);
  for (const HostCertificate& host : server.host_certificates) {
    add(host.hosts.front(), host.certificate_file);
    for (const CertificateFiles& one : host.more) add(host.hosts.front(), one.certificate_file);
  }
  return found;
}

std::vector<CertificateRow> rows_of(const std::vector<Certificate>& certificates) {
  std::vector<CertificateRow> rows;
  for (const Certificate& one : certificates) {
    constexpr std::int64_t day_s = 24 * 3600;
    const std::int64_t left_s = one.end_s - std::time(nullptr);
    rows.push_back(one.row);
    rows.back().days_left = left_s >= 0 ? left_s / day_s : -((day_s - 1 - left_s) / day_s);
  }
  return rows;
}

Response asset(std::string_view text, std::string_view type) {
  return Response(200, std::string(text), type).add("Cache-Control", "no-cache");
}

Response health(int status, std::string_view state) {
  return Response(status, fmt::format("{}\n", state), "text/plain; charset=utf-8")
      .add("Cache-Control", "no-store");
}

// What the page may load: its own files only.
Response page() {
  return asset(status_page, "text/html; charset=utf-8")
      .add("Content-Security-Policy",
           "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
           "img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
      .add("Referrer-Policy", "no-referrer");
}

}  // namespace

struct Admin::Parts {
  Parts(const config::Configuration& all, ListenerOptions listener, Server& observed)
      : configuration(all),
        server(observed),
        own({.listeners = {std::move(listener)}, .threads = 1, .serve_when_tight = true}) {}

  StatusFacts facts() {
    StatusFacts facts{.scheme = std::string(server::kind_of(configuration.server.scheme).name),
                      .engine = server.engine().name,
                      .started_unix_s = started_unix_s,
                      .unix_s = now_s()};
    facts.certificates = rows_of(certificates);
    return facts;
  }

  // Blocks: asks the workers. `entries`: of the history.
  std::string snapshot(std::size_t entries) {
    const ServerStatus status = server.status();
    const std::lock_guard lock(mutex);
    return status_json(status, facts(), history.entries(), entries);
  }

  // Once a second: notes the numbers, and tells those who watch. Blocks.
  void tick() {
    {
      const ServerStatus status = server.status(Server::Detail::numbers);
      const std::lock_guard lock(mutex);
      history.add(status, now_s());
    }
    if (events.clients() > 0) events.send({.data = snapshot(1)});
  }

  Task<void> run() {
    auto next = std::chrono::steady_clock::now();
    for (;;) {
      const Result<void> done = co_await run_blocking([this] { tick(); });
      if (!done && done.error().code == ECANCELED) co_return;
      // A point in time, so that what a tick takes does not add up; none is made up for.
      next = std::max(next + std::chrono::seconds(1), std::chrono::steady_clock::now());
      const Result<void> slept = co_await sleep_until(next);
      if (!slept) co_return;
    }
  }

  void add_routes();

  const config::Configuration& configuration;
  Server& server;
  const double started_unix_s = now_s();
  std::atomic<bool> ending{false};
  EventStream events;
  std::mutex mutex;  // for all below
  History history;
  std::vector<Certificate> certificates;
  Server own;  // last: its threads use the others
};

void Admin::Parts::add_routes() {
  own.use(admin_access(configuration.admin));
  own.get("/", [](Request&) { return Response::redirect("/-/status", 307); });
  own.get("/-/", [](Request&) { return Response::redirect("/-/status", 307); });
  own.get(healthy_path, [](Request&) { return health(200, "healthy"); });
  own.get(ready_path, [this](Request&) {
    return ending.load() ? health(503, "ending") : health(200, "ready");
  });
  own.get("/-/status", [](Request&) { return page(); });
  own.get("/-/status.css", [](Request&) { return asset(status_style, "text/css; charset=utf-8"); });
  own.get("/-/status.js",
          [](Request&) { return asset(status_script, "text/javascript; charset=utf-8"); });
  own.get("/-/status/events", [this](Request& request) { return events.subscribe(request); });
  own.get("/-/status.json", Handler([this](Request&) -> Task<Response> {
            Result<std::string> json =
                co_await run_blocking([this] { return snapshot(History::entries_max); });
            if (!json) co_return Response(503);
            co_return Response::json(*std::move(json)).add("Cache-Control", "no-store");
          }));
  own.get("/-/metrics", Handler([this](Request&) -> Task<Response> {
            Result<std::string> text =
                co_await run_blocking([this] { return with_store_metrics(server.metrics()); });
            if (!text) co_return Response(503);
            co_return Response(200, *std::move(text), open_metrics_media_type);
          }));
}

Admin::Admin(const config::Configuration& configuration, ListenerOptions listener, Server& server)
    : parts_(std::make_unique<Parts>(configuration, std::move(listener), server)) {
  parts_->add_routes();
  read_certificates();
}

void Admin::read_certificates() {
  std::vector<Certificate> certificates = certificates_of(parts_->configuration);
  const std::lock_guard lock(parts_->mutex);
  parts_->certificates = std::move(certificates);
}

void Admin::announce_end() noexcept { parts_->ending.store(true); }

Admin::~Admin() { stop(); }

Result<void, std::string> Admin::start() {
  const Result<void, std::string> started = parts_->own.start();
  if (!started) return std::unexpected("admin listener: " + started.error());
  parts_->own.spawn(parts_->run());
  return {};
}

// Nobody waits for an admin's request: a second stop() cancels what is in flight.
void Admin::stop() noexcept {
  parts_->events.close();
  parts_->own.stop();
  parts_->own.stop();
  parts_->own.wait();
}

std::string Admin::url() const {
  const Address& address = parts_->own.addresses().front();
  if (!address.path.empty()) return "unix:" + address.path;
  const bool ipv6 = address.host.contains(':');
  return fmt::format("http://{}{}{}:{}/-/status", ipv6 ? "[" : "", address.host, ipv6 ? "]" : "",
                     address.port);
}

}  // namespace h2server::app
