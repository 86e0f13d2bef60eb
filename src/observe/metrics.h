// What a worker counts for the metrics: requests by site, handshakes, connections, resets, floods.
//
// A worker owns a WorkerMetrics and is the only thread that writes to it. Any thread reads it, with
// add_to(): totals are the sum over the workers. Numbers only grow, but for those of what is open.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/counter.h"
#include "observe/access_record.h"
#include "observe/top_paths.h"

namespace h2server::observe {

enum class Method : std::uint8_t { get, head, post, put, patch, remove, options, other };
inline constexpr std::size_t methods = 8;
Method method_of(std::string_view name) noexcept;

enum class Protocol : std::uint8_t { http_1_0, http_1_1, http_2 };
inline constexpr std::size_t protocols = 3;

// 1 to 5 for the classes of status codes; 0: no response.
inline constexpr std::size_t status_classes = 6;

inline constexpr std::size_t cut_offs = 8;

enum class Handshake : std::uint8_t {
  full,
  resumed,
  timed_out,
  client_left,        // before the end
  refused_by_client,  // an alert: it does not trust the certificate, for one
  no_common_choice,   // of versions, ciphers, groups or protocols
  failed,             // for another reason
};
inline constexpr std::size_t handshake_results = 7;

// Groups of the key exchange (RFC 8446, 4.2.7).
enum class Group : std::uint8_t { x25519_mlkem768, x25519, secp256r1, secp384r1, other };
inline constexpr std::size_t groups = 5;
// `name`: IANA's.
Group group_of(std::string_view name) noexcept;

enum class Reset : std::uint8_t { by_client, by_server };
inline constexpr std::size_t reset_kinds = 2;

enum class Flood : std::uint8_t { idle_frames, resets, other };
inline constexpr std::size_t flood_kinds = 3;

// Upper bounds of the histogram's buckets in microseconds. The last bucket has none.
inline constexpr std::array<std::uint32_t, 16> duration_bounds_us{
    100,    250,     500,     1'000,   2'500,     5'000,     10'000,    25'000,
    50'000, 100'000, 250'000, 500'000, 1'000'000, 2'500'000, 5'000'000, 10'000'000};
inline constexpr std::size_t duration_buckets = duration_bounds_us.size() + 1;
std::size_t duration_bucket(std::int64_t duration_us) noexcept;

// Cell: base::Counter where a worker counts, std::uint64_t for sums.
template <class Cell>
struct SiteNumbers {
  // By method, status class and protocol: see request_cell().
  std::array<Cell, methods * status_classes * protocols> requests{};
  std::array<Cell, duration_buckets> durations{};  // requests in each bucket alone
  Cell duration_us{};                              // the sum
  Cell response_bytes{};
  Cell request_bytes{};
  std::array<Cell, cut_offs> cut_off{};
};

constexpr std::size_t request_cell(Method method, std::size_t status_class,
                                   Protocol protocol) noexcept {
  return (static_cast<std::size_t>(method) * status_classes + status_class) * protocols +
         static_cast<std::size_t>(protocol);
}

template <class Cell>
struct WorkerNumbers {
  std::array<Cell, handshake_results> handshake{};
  std::array<Cell, groups> group{};  // of handshakes that had one
  std::array<Cell, protocols> connections_opened{};
  std::array<Cell, protocols> connections_open{};
  std::array<Cell, reset_kinds> reset{};
  std::array<Cell, flood_kinds> flood{};
};

struct Totals {
  std::vector<SiteNumbers<std::uint64_t>> sites;
  WorkerNumbers<std::uint64_t> workers;
};

class WorkerMetrics {
 public:
  // Sites have the numbers 0 to `sites` - 1.
  explicit WorkerMetrics(std::size_t sites);
  ~WorkerMetrics();

  // The worker. Allocates at a site's first request.
  void count_request(std::uint32_t site, const AccessRecord& record);

  // The worker writes, others read: add one with up().
  WorkerNumbers<base::Counter> numbers;

  // Any thread.
  void add_to(Totals& totals) const;

  // Paths are counted while somebody watches: any thread may say so, and ask for them.
  void watch(bool watched) noexcept { watched_.store(watched, std::memory_order_relaxed); }
  [[nodiscard]] TopPaths& top_paths() noexcept { return top_paths_; }

 private:
  using Site = SiteNumbers<base::Counter>;

  Site& site(std::uint32_t number);

  // The worker owns what they point to, and publishes it once.
  std::vector<std::atomic<Site*>> sites_;
  std::vector<std::unique_ptr<Site>> owned_;
  std::atomic<bool> watched_{false};
  TopPaths top_paths_;
};

}  // namespace h2server::observe
