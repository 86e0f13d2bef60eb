// A long or narrow line between two ends on this machine, in user space: accepts connections, makes
// one to the target for each, and passes the bytes of each direction through a DelayLine.
//
// What a client sees of connecting: connect() itself succeeds at once, the kernel does that. But
// what the client says counts as said one round trip later, and the target sees the connection
// after one and a half, as if SYN, SYN-ACK and ACK had travelled. A target that refuses is seen as
// a reset at that time.
//
// What it does not model: loss, congestion windows and slow start (a first megabyte crosses in one
// go), acknowledgements, sharing of the bandwidth by several connections (each has it for itself),
// packets' overhead. The kernel's socket buffers at both ends come on top of what may be under way.
// A reset is passed on at once.
//
// One thread, which owns all descriptors.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fd.h"
#include "h2server/result.h"
#include "relay/delay_line.h"

namespace h2server::lab::relay {

struct RelayOptions {
  std::uint16_t port = 0;  // of 127.0.0.1, as the target's; 0: any free one
  std::uint16_t target_port = 0;
  std::int64_t round_trip_ns = 50'000'000;
  double bytes_per_second = 0;  // in each direction; 0: no limit
};

// Half the round trip, and a bound for what is under way, by which the sender feels a slow
// receiver.
LineOptions line_of(const RelayOptions& options) noexcept;

class Relay {
 public:
  // Listens. `stop`: a descriptor that becomes readable when it is time to end; it outlives this.
  // The error is a line for the operator.
  static Result<std::unique_ptr<Relay>, std::string> open(const RelayOptions& options, int stop);

  // open() does this.
  explicit Relay(const RelayOptions& options);

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  // Until `stop` is readable.
  Result<void, std::string> run();

 private:
  enum Side : std::size_t { client, target };

  struct End {
    base::Fd socket;
    bool readable = false;  // as far as is known: until the kernel says EAGAIN
    bool writable = false;
  };
  struct Connection {
    Connection(std::uint64_t key, std::int64_t now, const LineOptions& line)
        : number(key), opened_ns(now), from{DelayLine(line), DelayLine(line)} {}
    std::uint64_t number;
    std::int64_t opened_ns;
    std::array<End, 2> ends{};
    std::array<DelayLine, 2> from;     // by the side that speaks
    std::array<bool, 2> all_read{};    // the side has said its last
    std::array<bool, 2> all_passed{};  // and the other one has it
    bool broken = false;               // an end was reset
    std::int64_t awaited_ns = 0;       // what the timer is set to, 0: none
  };
  struct Timer {
    std::int64_t due_ns;
    std::uint64_t number;
    bool operator>(const Timer& other) const noexcept { return due_ns > other.due_ns; }
  };

  bool watch(int descriptor, std::uint64_t key, std::uint32_t events);
  Result<void, std::string> wait();
  Result<void, std::string> accept_all();
  bool connect(Connection& connection);
  void serve(std::uint64_t number);
  bool pass(Connection& connection);
  bool read_from(Connection& connection, Side side, bool& progress);
  bool write_from(Connection& connection, Side side, bool& progress);
  void set_timer(Connection& connection);
  void reset(Connection& connection);
  void run_timers();

  const RelayOptions options_;
  const LineOptions line_;
  bool stopping_ = false;
  std::uint16_t port_ = 0;
  base::Fd set_;
  base::Fd listener_;
  std::uint64_t next_number_ = 1;
  std::unordered_map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::vector<char> buffer_;
};

}  // namespace h2server::lab::relay
