// Server::status() and Server::metrics(): what a running server tells of itself.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/memory/memory_budget.h"
#include "file/cache.h"
#include "io/turn_times.h"
#include "observe/open_metrics.h"
#include "server/process_numbers.h"
#include "server/server_state.h"
#include "server/worker_services.h"

namespace h2server {

namespace {

constexpr std::size_t connections_max = 1000;
constexpr std::size_t uploads_max = 100;
constexpr std::size_t paths_max = 20;

// --- connections ------------------------------------------------------------------------------

// What the workers say. Shared with what is posted to them, which may arrive late.
struct Collected {
  std::mutex mutex;
  std::condition_variable answered;
  unsigned missing = 0;  // workers that have not answered
  ServerStatus status;
};

double seconds_since(std::int64_t us, std::int64_t now_us) {
  return static_cast<double>(now_us - us) / 1e6;
}

// Describes connections of the worker whose thread calls it.
class Census {
 public:
  Census(unsigned worker, ServerStatus& status) : worker_(worker), status_(status) {}

  bool visit(const http::Drainable& connection) {
    const auto* const record = static_cast<const server::ConnectionRecord*>(connection.observer());
    if (record == nullptr) return true;
    if (status_.connections.size() == connections_max) {
      ++status_.connections_left_out;
      return true;
    }
    ServerStatus::Connection row{
        .worker = worker_,
        .protocol = record->protocol() == observe::Protocol::http_2 ? "HTTP/2" : "HTTP/1.1",
        .tls = record->tls_version(),
        .client = record->client().host,
        .age_s = seconds_since(record->opened_us(), now_us_),
        .requests = record->requests()};
    connection.each_exchange([&](const http::ExchangeState& exchange) {
      ++row.active;
      row.upload_bytes += exchange.observed.received;
      add_upload(exchange);
    });
    status_.connections.push_back(std::move(row));
    return true;
  }

 private:
  void add_upload(const http::ExchangeState& exchange) {
    const std::uint64_t received = exchange.observed.received;
    const std::optional<std::uint64_t>& size = exchange.head.content_length;
    const bool under_way = received > 0 && (!size || received < *size);
    if (!under_way || status_.uploads.size() == uploads_max) return;
    status_.uploads.push_back({.host = exchange.host != nullptr ? exchange.host->name : "",
                               .path = std::string(exchange.head.path),
                               .received = received,
                               .size = size,
                               .age_s = seconds_since(exchange.observed.begun_us, now_us_)});
  }

  const unsigned worker_;
  const std::int64_t now_us_ = base::monotonic_us();
  ServerStatus& status_;
};

// Moves the first elements of one list behind those of another. Returns how many had no room.
template <class T>
std::size_t move_some(std::vector<T>& from, std::vector<T>& to, std::size_t count_max) {
  const std::size_t count = std::min(from.size(), count_max - std::min(to.size(), count_max));
  std::move(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(count),
            std::back_inserter(to));
  return from.size() - count;
}

void add(ServerStatus own, ServerStatus& all) {
  all.connections_left_out +=
      own.connections_left_out + move_some(own.connections, all.connections, connections_max);
  move_some(own.uploads, all.uploads, uploads_max);
}

// Asks a worker for its connections; owns itself once it is posted.
class Question final : public coro::Delivery {
 public:
  Question(unsigned worker, std::shared_ptr<Collected> collected)
      : worker_(worker), collected_(std::move(collected)) {}

  void arrive() noexcept override {
    const std::unique_ptr<Question> self(this);
    const auto* const services = server::WorkerServices::of_this_thread();
    ServerStatus own;
    if (services != nullptr && services->connections() != nullptr) {
      Census census(worker_, own);
      services->connections()->each(
          [&](const http::Drainable& connection, bool) { return census.visit(connection); });
    }
    const std::lock_guard lock(collected_->mutex);
    add(std::move(own), collected_->status);
    answer();
  }
  void drop() noexcept override {
    const std::unique_ptr<Question> self(this);
    const std::lock_guard lock(collected_->mutex);
    answer();
  }

 private:
  void answer() {
    --collected_->missing;
    collected_->answered.notify_all();
  }

  const unsigned worker_;
  const std::shared_ptr<Collected> collected_;
};

// --- numbers ----------------------------------------------------------------------------------

void add_requests(server::Observation& observation, Server::Detail detail, ServerStatus& status) {
  const observe::Totals totals = observation.totals();
  status.duration_bounds_us.assign(observe::duration_bounds_us.begin(),
                                   observe::duration_bounds_us.end());
  status.durations.assign(observe::duration_buckets, 0);
  for (std::size_t host = 0; host < totals.sites.size(); ++host) {
    const auto& numbers = totals.sites[host];
    ServerStatus::Host row{.name = observation.host_names()[host],
                           .response_bytes = numbers.response_bytes,
                           .request_bytes = numbers.request_bytes};
    for (std::size_t bucket = 0; bucket < numbers.durations.size(); ++bucket) {
      row.requests += numbers.durations[bucket];
      status.durations[bucket] += numbers.durations[bucket];
    }
    for (std::size_t method = 0; method < observe::methods; ++method) {
      for (std::size_t protocol = 0; protocol < observe::protocols; ++protocol) {
        row.errors += numbers.requests[observe::request_cell(
            static_cast<observe::Method>(method), 5, static_cast<observe::Protocol>(protocol))];
      }
    }
    if (host == 0 || row.requests > 0) status.hosts.push_back(std::move(row));
  }
  if (detail == Server::Detail::all) {
    for (observe::TopPath& path : observation.watch_paths(paths_max)) {
      status.paths.push_back({std::move(path.path), path.count});
    }
  } else {
    observation.end_idle_watch();
  }
  const observe::LogWriter::Stats log = observation.log_stats();
  status.log = {.lines = log.accepted, .dropped = log.dropped + log.lost};
}

ServerStatus::FileCache cache_status() {
  const file::Cache::Stats stats = file::Cache::of_process().stats();
  return {.entries = stats.entries,
          .bytes = stats.bytes,
          .bytes_max = stats.bytes_max,
          .snapshot_bytes = stats.snapshot_bytes,
          .snapshot_bytes_max = stats.snapshot_bytes_max,
          .hits = stats.hits,
          .loads = stats.loads};
}

ServerStatus::Memory memory_status() {
  const base::MemoryBudget& budget = base::MemoryBudget::of_process();
  ServerStatus::Memory memory{.bytes = budget.held(),
                              .bytes_max = budget.limit(),
                              .refused = budget.refused(),
                              .cut_off = budget.cut_off(),
                              .owners = {}};
  for (std::size_t i = 0; i < base::memory_owners; ++i) {
    const auto owner = static_cast<base::MemoryOwner>(i);
    memory.owners.push_back({std::string(base::name_of(owner)), budget.held(owner)});
  }
  return memory;
}

// --- metrics ----------------------------------------------------------------------------------

using Writer = observe::OpenMetricsWriter;
using enum observe::OpenMetricsWriter::Type;

void write_workers(Writer& writer, const std::vector<ServerStatus::Worker>& workers) {
  const auto family = [&](const char* name, Writer::Type type, const char* help,
                          std::uint64_t ServerStatus::Worker::* number) {
    writer.family(name, type, "", help);
    for (const ServerStatus::Worker& worker : workers) {
      writer.sample({{"worker", std::to_string(worker.number)}}, worker.*number);
    }
  };
  using Row = ServerStatus::Worker;
  family("h2server_worker_connections", gauge, "Open connections.", &Row::connections);
  family("h2server_worker_accepted", counter, "Connections accepted.", &Row::accepted);
  family("h2server_worker_streams", gauge, "Open HTTP/2 streams.", &Row::streams);
  family("h2server_worker_queue", gauge, "Connections handed over and not taken yet.",
         &Row::waiting);
  family("h2server_worker_turns", counter, "Turns of the event loop.", &Row::turns);
  writer.family("h2server_turn_seconds", histogram, "seconds",
                "Turns of the event loop, in which a worker serves nobody else.");
  for (const Row& worker : workers) {
    writer.histogram({{"worker", std::to_string(worker.number)}}, io::TurnTimes::bounds_us,
                     worker.turn_times, worker.turns_ms * 1000);
  }
}

void write_cache(Writer& writer, const ServerStatus::FileCache& cache) {
  writer.family("h2server_file_cache_entries", gauge, "", "Files, and paths without a file.");
  writer.sample({}, std::uint64_t{cache.entries});
  writer.family("h2server_file_cache_hits", counter, "",
                "Lookups that a worker's index has answered.");
  writer.sample({}, cache.hits);
  writer.family("h2server_file_cache_loads", counter, "", "Lookups in the file system or a store.");
  writer.sample({}, cache.loads);
}

void write_log(Writer& writer, const observe::LogWriter::Stats& log) {
  writer.family("h2server_access_log_lines", counter, "", "Lines by what became of them.");
  writer.sample({{"result", "queued"}}, log.accepted);
  writer.sample({{"result", "dropped"}}, log.dropped);
  writer.sample({{"result", "lost"}}, log.lost);
  writer.family("h2server_access_log_bytes", counter, "bytes", "Bytes written.");
  writer.sample({}, log.bytes);
  writer.family("h2server_access_log_errors", counter, "", "Writes that failed.");
  writer.sample({}, log.errors);
}

void write_memory(Writer& writer, const ServerStatus::FileCache& cache,
                  const server::SharedContext& shared) {
  const std::int64_t windows = shared.windows.taken();
  writer.family("h2server_memory_bytes", gauge, "bytes", "Memory by its owner.");
  writer.sample({{"owner", "file_cache"}}, cache.bytes);
  writer.sample({{"owner", "snapshots"}}, cache.snapshot_bytes);
  writer.sample({{"owner", "window_growth"}},
                static_cast<std::uint64_t>(std::max<std::int64_t>(windows, 0)));
  writer.sample({{"owner", "log_queues"}}, std::uint64_t{shared.observation->log_queue_bytes()});
  const ServerStatus::Memory memory = memory_status();
  for (const ServerStatus::Memory::Owner& owner : memory.owners) {
    writer.sample({{"owner", owner.name}}, owner.bytes);
  }
  writer.family("h2server_client_memory_bytes", gauge, "bytes",
                "Memory that clients make it hold.");
  writer.sample({}, memory.bytes);
  writer.family("h2server_client_memory_limit_bytes", gauge, "bytes", "The limit of that.");
  writer.sample({}, memory.bytes_max);
  writer.family("h2server_memory_refused_requests", counter, "",
                "Requests refused because memory was tight.");
  writer.sample({}, memory.refused);
  writer.family("h2server_memory_clients_cut_off", counter, "",
                "Clients that were cut off because they held most of it.");
  writer.sample({}, memory.cut_off);
}

void write_process(Writer& writer) {
  const server::ProcessNumbers process = server::process_numbers();
  writer.family("process_resident_memory_bytes", gauge, "bytes", "Resident memory.");
  writer.sample({}, process.resident_bytes);
  writer.family("process_open_fds", gauge, "", "Open descriptors.");
  writer.sample({}, process.descriptors);
  writer.family("process_max_fds", gauge, "", "Limit of open descriptors.");
  writer.sample({}, process.descriptors_max);
  writer.family("process_cpu_seconds", counter, "seconds", "Processor time, user and system.");
  writer.sample({}, process.cpu_s);
  writer.family("process_start_time_seconds", gauge, "seconds", "When the process began.");
  writer.sample({}, process.started_unix_s);
}

}  // namespace

ServerStatus Server::status(Detail detail) const {
  constexpr std::chrono::milliseconds answer_max{200};
  const auto collected = std::make_shared<Collected>();
  ServerStatus status;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->scheme == nullptr) return status;
    status.workers = state_->scheme->workers();
    status.turn_bounds_us.assign(io::TurnTimes::bounds_us.begin(), io::TurnTimes::bounds_us.end());
    server::Observation* const observation = state_->shared->observation.get();
    if (observation != nullptr) add_requests(*observation, detail, status);
    const bool asks = observation != nullptr && detail == Detail::all;
    for (std::size_t i = 0; asks && i < state_->mailboxes.size(); ++i) {
      auto question = std::make_unique<Question>(static_cast<unsigned>(i + 1), collected);
      {
        const std::lock_guard counting(collected->mutex);
        ++collected->missing;
      }
      if (state_->mailboxes[i]->post(*question)) {
        static_cast<void>(question.release());
      } else {
        question->drop();
        static_cast<void>(question.release());
      }
    }
  }
  status.cache = cache_status();
  status.memory = memory_status();
  std::unique_lock lock(collected->mutex);
  collected->answered.wait_for(lock, answer_max, [&] { return collected->missing == 0; });
  status.connections = std::exchange(collected->status.connections, {});
  status.connections_left_out = collected->status.connections_left_out;
  status.uploads = std::exchange(collected->status.uploads, {});
  return status;
}

std::string Server::metrics() const {
  const std::lock_guard lock(state_->mutex);
  if (state_->scheme == nullptr || state_->shared->observation == nullptr) return {};
  server::Observation& observation = *state_->shared->observation;
  const observe::Totals totals = observation.totals();
  const ServerStatus::FileCache cache = cache_status();
  Writer writer;
  observe::write_requests(writer, observation.host_names(), totals);
  observe::write_connections(writer, totals);
  write_workers(writer, state_->scheme->workers());
  write_cache(writer, cache);
  writer.family("h2server_blocking_queue", gauge, "", "Calls that wait for a thread.");
  writer.sample({}, std::uint64_t{state_->shared->blocking_calls.waiting()});
  write_log(writer, observation.log_stats());
  write_memory(writer, cache, *state_->shared);
  write_process(writer);
  return writer.finish();
}

void Server::reopen_logs() noexcept { state_->reopen_logs(); }

}  // namespace h2server
