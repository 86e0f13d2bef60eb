// Admission: limits the open connections, in all and per address. Any thread.
//
// A ticket stands for an admitted connection; its destructor releases the place.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <expected>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace h2server::server {

struct AdmissionLimits {
  unsigned connections_max = 0;  // 0: no limit
  // Of an IPv4 address, or an IPv6 network of 64 bits; not of a Unix socket. 0: no limit.
  unsigned per_address_max = 0;
  // How many connections are allowed beyond connections_max while idle ones close to make room.
  unsigned shedding_max = 0;
};

class Admission {
 public:
  class Ticket;
  enum class Refusal : std::uint8_t { full, address_full };

  // Must be called before the first admit().
  void set_limits(const AdmissionLimits& limits) noexcept { limits_ = limits; }
  [[nodiscard]] const AdmissionLimits& limits() const noexcept { return limits_; }

  // Admits a connected socket. The ticket must not outlive this.
  [[nodiscard]] std::expected<Ticket, Refusal> admit(int connection);
  // Logs a refusal, at most once in 10 seconds.
  void report(Refusal refusal, std::int64_t now_ms);

  [[nodiscard]] unsigned connections() const noexcept { return total_.load(); }

 private:
  struct Address {
    std::array<std::uint8_t, 8> network{};  // of IPv6
    std::array<std::uint8_t, 4> host{};     // of IPv4
    bool operator==(const Address&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Address& address) const noexcept;
  };
  using Counts = std::unordered_map<Address, unsigned, Hash>;
  struct Shard {
    std::mutex mutex;  // for `counts`
    Counts counts;
  };

  static std::optional<Address> address_of(int connection) noexcept;
  Shard& shard_of(const Address& address) noexcept;
  void leave(Counts::value_type* count) noexcept;

  AdmissionLimits limits_;
  std::atomic<unsigned> total_{0};
  std::atomic<std::int64_t> report_from_ms_{0};
  std::array<Shard, 16> shards_;  // reduces contention between workers
};

class Admission::Ticket {
 public:
  Ticket() = default;
  Ticket(Ticket&& other) noexcept
      : admission_(std::exchange(other.admission_, nullptr)), count_(other.count_) {}
  Ticket& operator=(Ticket&&) = delete;
  ~Ticket() {
    if (admission_ != nullptr) admission_->leave(count_);
  }

  // Returns a number that the connections of an address have in common; 0 if addresses are not
  // counted.
  [[nodiscard]] std::uint64_t client() const noexcept;
  // Returns true if more than connections_max are open: an idle connection should close.
  [[nodiscard]] bool is_over() const noexcept;

 private:
  friend class Admission;
  Ticket(Admission& admission, Counts::value_type* count) noexcept
      : admission_(&admission), count_(count) {}

  Admission* admission_ = nullptr;
  Counts::value_type* count_ = nullptr;  // of its address; null if addresses are not counted
};

}  // namespace h2server::server
