// The streams of a connection: those that are alive, by identifier, and what is still known of
// those that are not (RFC 9113, 5.1). Also what is to be told of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/pool.h"
#include "http/h2/session.h"

namespace h2server::http::h2 {

class Streams {
 public:
  // What an identifier of a client that is not alive stands for.
  enum class Past : std::uint8_t {
    idle,         // not used yet
    passed_over,  // closed by the use of a higher one (5.1.1)
    reset,        // by us: frames that the peer sent before it knew are ignored
    ended,        // by the peer's END_STREAM or RST_STREAM: it may not send on it
    forgotten,    // so long ago that it may be any of these
  };

  explicit Streams(base::Pool<Transfer>& transfers) noexcept : transfers_(transfers) {}
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  // Notes an idle identifier as used; those between it and the last one are passed over.
  void use(std::uint32_t id) noexcept;
  // A transfer for it, in state open and not announced.
  Transfer& open(std::uint32_t id);
  // Null: it is not alive.
  [[nodiscard]] Transfer* find(std::uint32_t id) const noexcept;
  [[nodiscard]] Past past(std::uint32_t id) const noexcept;
  // Of an identifier that was used: what comes on it is ignored.
  void note_reset(std::uint32_t id) noexcept;
  // Not alive any more: the event `closed` follows, or, where it was not announced, it goes back to
  // the pool.
  void close(Transfer& transfer) noexcept;

  [[nodiscard]] std::size_t alive() const noexcept { return alive_; }
  [[nodiscard]] std::uint32_t last_id() const noexcept { return last_id_; }

  // To be told: that the stream is closed, or that stream.taken was set.
  void tell(Transfer& transfer) noexcept;
  [[nodiscard]] bool has_told() const noexcept { return first_told_ != nullptr; }
  [[nodiscard]] bool next_told(SessionEvent& event) noexcept;

  template <class Each>
  void for_each(Each each) {
    for (Transfer* transfer : buckets_) {
      for (; transfer != nullptr; transfer = transfer->stream.next_in_bucket) each(*transfer);
    }
  }

 private:
  static constexpr std::uint32_t remembered = 64;  // identifiers up to the last one
  using Memory = std::uint64_t;                    // bit i: the i-th before the last one

  // Consecutive identifiers spread evenly; 128 streams make chains of eight.
  static std::size_t bucket_of(std::uint32_t id) noexcept { return id / 2 % bucket_count; }
  [[nodiscard]] std::uint32_t age(std::uint32_t id) const noexcept { return (last_id_ - id) / 2; }

  static constexpr std::size_t bucket_count = 16;

  base::Pool<Transfer>& transfers_;
  std::array<Transfer*, bucket_count> buckets_{};
  Transfer* first_told_ = nullptr;
  Transfer* last_told_ = nullptr;
  std::size_t alive_ = 0;
  Memory used_ = 0;
  Memory reset_ = 0;
  std::uint32_t last_id_ = 0;
};

}  // namespace h2server::http::h2
