// Observation: what a server's logs and metrics have in common. WorkerObservation: the part of one
// worker. ConnectionRecord: the part of one connection.
//
// The access log's thread belongs to the Observation, which outlives the workers.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/access_record.h"
#include "h2server/connection_info.h"
#include "h2server/options.h"
#include "h2server/result.h"
#include "http/answer.h"
#include "http/observer.h"
#include "observe/access_line.h"
#include "observe/connection_members.h"
#include "observe/log_writer.h"
#include "observe/metrics.h"

namespace h2server::server {

class ConnectionRecord;
class Observation;

// Used on its worker's thread; a scheme that blocks has one for all its threads, which it guards.
class WorkerObservation {
 public:
  // `requests` may be null; it counts those that have ended.
  WorkerObservation(Observation& all, observe::LogRing* ring, base::Counter* requests);

  // Returns the observer of a connection whose handshake is over, see ConnectionTraits.
  std::unique_ptr<ConnectionRecord> observe(const ConnectionInfo& connection, Address client,
                                            observe::Protocol protocol);
  // `group`: of the key exchange, or empty: see net::TlsTransport.
  void count(observe::Handshake result, std::string_view group) noexcept;

  // Any thread.
  [[nodiscard]] observe::WorkerMetrics& metrics() noexcept { return metrics_; }
  [[nodiscard]] const observe::WorkerMetrics& metrics() const noexcept { return metrics_; }

 private:
  friend class ConnectionRecord;
  friend class Observation;

  void count_opened(observe::Protocol protocol) noexcept;
  void count_closed(observe::Protocol protocol) noexcept;
  void count(const http::ConnectionError& error) noexcept;
  void count_reset(bool by_client) noexcept;
  void note(const ConnectionRecord& connection, const http::ExchangeState& exchange,
            std::uint32_t stream) noexcept;
  [[nodiscard]] std::unique_lock<std::mutex> lock() const;
  [[nodiscard]] std::int64_t unix_us_at(std::int64_t us) noexcept;

  Observation& all_;
  observe::LogRing* const ring_;   // null: no log
  base::Counter* const requests_;  // may be null
  observe::LineFormatter formatter_;
  std::string shown_target_;  // of the last record that had a secret in it
  std::string shown_referer_;
  observe::WorkerMetrics metrics_;
  std::int64_t unix_offset_us_ = 0;  // of the wall clock to that of times
  std::int64_t offset_at_us_ = 0;    // when it was taken
  mutable std::mutex mutex_;         // of a scheme that blocks
};

class ConnectionRecord final : public http::ConnectionObserver {
 public:
  ConnectionRecord(WorkerObservation& worker, const ConnectionInfo& connection, Address client,
                   observe::Protocol protocol);
  ~ConnectionRecord() override;

  std::int64_t now_us() const noexcept override;
  void ended(const http::ExchangeState& exchange, std::uint32_t stream) noexcept override;
  std::optional<std::span<const std::string_view>> fields_read() const noexcept override;
  void reset(bool by_client) noexcept override { worker_.count_reset(by_client); }
  void failed(const http::ConnectionError& error) noexcept override { worker_.count(error); }

  [[nodiscard]] const Address& client() const noexcept { return client_; }
  [[nodiscard]] const std::string& tls_version() const noexcept { return tls_version_; }
  [[nodiscard]] observe::Protocol protocol() const noexcept { return protocol_; }
  [[nodiscard]] std::int64_t opened_us() const noexcept { return opened_us_; }
  [[nodiscard]] std::uint64_t requests() const noexcept { return requests_; }
  [[nodiscard]] observe::ConnectionMembers const& members() const noexcept { return members_; }

 private:
  WorkerObservation& worker_;
  const observe::Protocol protocol_;
  const std::int64_t opened_us_;
  const Address client_;
  std::string tls_version_;
  observe::ConnectionMembers members_;
  std::uint64_t requests_ = 0;
};

class Observation {
 public:
  // `composition`, which may be null, has the hosts; it must outlive this. The error is a line for
  // the operator.
  static Result<std::unique_ptr<Observation>, std::string> open(
      const ServerOptions& options, const http::Composition* composition, bool shared_by_threads);

  explicit Observation(const ServerOptions& options, bool shared_by_threads)
      : log_(options.access_log),
        counts_(options.metrics),
        hook_(options.exchange_hook),
        shared_(shared_by_threads) {}

  // Returns the part of one more worker, or the one that all threads share. Any thread.
  WorkerObservation& join(base::Counter& requests);
  void reopen_logs() noexcept { writer_.reopen(); }
  // Writes the lines that there are. The workers have ended, or were left behind.
  void stop() noexcept {
    stopped_.store(true);
    writer_.stop();
  }

  // The names of hosts by their numbers; that of all others is empty.
  [[nodiscard]] const std::vector<std::string>& host_names() const noexcept { return hosts_; }
  [[nodiscard]] observe::Totals totals() const;
  [[nodiscard]] observe::LogWriter::Stats log_stats() const { return writer_.stats(); }
  [[nodiscard]] std::size_t log_queue_bytes() const;
  // Makes workers count paths; returns the `count_max` most requested ones.
  [[nodiscard]] std::vector<observe::TopPath> watch_paths(std::size_t count_max);
  // Ends that, and forgets them, if nobody has asked for a minute.
  void end_idle_watch();

 private:
  friend class WorkerObservation;
  friend class ConnectionRecord;

  static constexpr std::uint32_t no_target = 0xffff'ffff;

  Result<void, std::string> open_targets(const http::Composition* composition);
  [[nodiscard]] Result<std::uint32_t, std::string> open_target(const std::string& target);

  // Copies: handlers that were left behind outlive the server that has the options.
  const AccessLogOptions log_;
  const bool counts_;
  const ExchangeHook hook_;
  std::atomic<bool> stopped_{false};  // then nothing is told any more
  const bool shared_;                 // by the threads of a scheme that blocks
  bool logs_ = false;
  std::vector<std::string> hosts_;
  std::vector<std::uint32_t> targets_;  // by the number of the host
  observe::LogWriter writer_;
  mutable std::mutex mutex_;  // for the list
  std::deque<WorkerObservation> workers_;
  std::int64_t watched_us_ = 0;  // when somebody asked for paths; 0: nobody watches
};

}  // namespace h2server::server
