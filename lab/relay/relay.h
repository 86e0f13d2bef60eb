// Simulates a long or narrow line between two ends on this machine, in user space. Accepts
// connections, connects to the target for each, and passes each direction through a DelayLine.
//
// Connecting: the client's connect() succeeds at once, in the kernel. The client's bytes are
// treated as sent one round trip later at the earliest, and the target sees the connection after
// one and a half round trips, as if SYN, SYN-ACK and ACK had travelled. If the target refuses, the
// client sees a reset at that time.
//
// Not modelled: loss, congestion windows and slow start (a first megabyte crosses at once),
// acknowledgements, bandwidth shared between connections (each has its own), packet overhead. The
// kernel's socket buffers at both ends hold bytes in addition to those in flight. A reset is passed
// on at once.
//
// One thread owns all descriptors.
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
  std::uint16_t port = 0;  // on 127.0.0.1, as the target; 0: any free port
  std::uint16_t target_port = 0;
  std::int64_t round_trip_ns = 50'000'000;
  double bytes_per_second = 0;  // in each direction; 0: no limit
};

// Returns half the round trip as delay, and a limit of the bytes in flight, which gives the sender
// backpressure from a slow receiver.
LineOptions line_of(const RelayOptions& options) noexcept;

class Relay {
 public:
  // Starts to listen. `stop` is a descriptor that becomes readable to end run(); it must outlive
  // the relay. The error is a message for the operator.
  static Result<std::unique_ptr<Relay>, std::string> open(const RelayOptions& options, int stop);

  // Use open().
  explicit Relay(const RelayOptions& options);

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  // Runs until `stop` is readable.
  Result<void, std::string> run();

 private:
  enum Side : std::size_t { client, target };

  struct End {
    base::Fd socket;
    bool readable = false;  // cleared when a call returns EAGAIN
    bool writable = false;
  };
  struct Connection {
    Connection(std::uint64_t key, std::int64_t now, const LineOptions& line)
        : number(key), opened_ns(now), from{DelayLine(line), DelayLine(line)} {}
    std::uint64_t number;
    std::int64_t opened_ns;
    std::array<End, 2> ends{};
    std::array<DelayLine, 2> from;     // by sending side
    std::array<bool, 2> all_read{};    // the side has closed its direction
    std::array<bool, 2> all_passed{};  // and the close is passed on
    bool broken = false;               // an end was reset or failed
    std::int64_t awaited_ns = 0;       // due time of the timer, 0 if none
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
