// Streams: the live streams of a connection by identifier, a short memory of those that are closed
// (RFC 9113, 5.1), and the queue of events about streams.
//
// open() takes exchanges from the pool. close() returns those that were not announced; the receiver
// of events returns the others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/memory/pool.h"
#include "http/h2/session.h"

namespace h2server::http::h2 {

class Streams {
 public:
  // State of a client's identifier that has no live stream.
  enum class Past : std::uint8_t {
    idle,       // not used yet
    skipped,    // closed by the use of a higher one (5.1.1)
    reset,      // by us: frames that the peer sent before it knew are ignored
    ended,      // by the peer's END_STREAM or RST_STREAM: HEADERS and DATA are errors
    forgotten,  // older than the memory: skipped, reset or ended
  };

  explicit Streams(base::Pool<H2Exchange>& exchanges) noexcept : exchanges_(exchanges) {}
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  // Marks an idle identifier as used. Those between it and the last used one are skipped.
  void use(std::uint32_t id) noexcept;
  // Returns a new exchange for `id`, in state open and not announced.
  H2Exchange& open(std::uint32_t id);
  // Returns null if the stream is not alive.
  [[nodiscard]] H2Exchange* find(std::uint32_t id) const noexcept;
  [[nodiscard]] Past past(std::uint32_t id) const noexcept;
  // Marks a used identifier as reset: what arrives on it is ignored.
  void mark_reset(std::uint32_t id) noexcept;
  // Closes a live stream. Queues the event `closed`, or returns an unannounced exchange to the
  // pool.
  void close(H2Exchange& exchange) noexcept;

  [[nodiscard]] std::size_t alive() const noexcept { return alive_; }
  [[nodiscard]] std::uint32_t last_id() const noexcept { return last_id_; }

  // Queues an event: `closed` if the stream is closed, else `body_wanted`. next_notification()
  // takes the first one and returns false if there is none.
  void notify(H2Exchange& exchange) noexcept;
  [[nodiscard]] bool has_notifications() const noexcept { return first_notified_ != nullptr; }
  [[nodiscard]] bool next_notification(SessionEvent& event) noexcept;

  template <class Each>
  void for_each(Each each) {
    for (H2Exchange* exchange : buckets_) {
      for (; exchange != nullptr; exchange = exchange->stream.next_in_bucket) each(*exchange);
    }
  }

 private:
  static constexpr std::uint32_t remembered = 64;  // identifiers, up to the last used one
  using Memory = std::uint64_t;                    // bit i: identifier last_id_ - 2 * i

  // Consecutive identifiers spread evenly; 128 streams make chains of eight.
  static std::size_t bucket_of(std::uint32_t id) noexcept { return id / 2 % bucket_count; }
  [[nodiscard]] std::uint32_t age(std::uint32_t id) const noexcept { return (last_id_ - id) / 2; }

  static constexpr std::size_t bucket_count = 16;

  base::Pool<H2Exchange>& exchanges_;
  std::array<H2Exchange*, bucket_count> buckets_{};
  H2Exchange* first_notified_ = nullptr;
  H2Exchange* last_notified_ = nullptr;
  std::size_t alive_ = 0;
  Memory used_ = 0;
  Memory reset_ = 0;
  std::uint32_t last_id_ = 0;
};

}  // namespace h2server::http::h2
