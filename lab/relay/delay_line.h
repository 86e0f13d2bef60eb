// One direction of a simulated line with delay and bandwidth: bytes put in at one time can be taken
// at a later one. Does no I/O. Times are parameters, in nanoseconds of any monotonic clock.
//
// Bytes leave the sender packet by packet at the given bandwidth. Each packet arrives a fixed delay
// after its last byte left. No reordering, no loss.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace h2server::lab::relay {

struct LineOptions {
  std::int64_t delay_ns = 0;
  double bytes_per_second = 0;  // 0 if unlimited
  std::size_t bytes_max = 0;    // limit of the bytes in flight
};

class DelayLine {
 public:
  explicit DelayLine(const LineOptions& options) : options_(options) {}

  // Returns how many bytes may be put in.
  [[nodiscard]] std::size_t room() const noexcept { return options_.bytes_max - bytes_; }
  // Puts in at most room() bytes. Not allowed after put_end().
  void put(std::int64_t now_ns, std::string_view bytes);
  // Ends the stream of this direction.
  void put_end(std::int64_t now_ns);

  // Returns the bytes that have arrived and are not taken, in order, in at most `parts_max` parts.
  // Valid until a non-const call.
  [[nodiscard]] std::vector<std::string_view> arrived(std::int64_t now_ns,
                                                      std::size_t parts_max) const;
  void take(std::size_t bytes);
  // Returns true if the end has arrived and everything before it is taken.
  [[nodiscard]] bool end_arrived(std::int64_t now_ns) const noexcept;
  // Returns when the next byte or the end arrives, possibly in the past, or null.
  [[nodiscard]] std::optional<std::int64_t> next_ns() const noexcept;

 private:
  struct Packet {
    std::int64_t due_ns;
    std::string bytes;
  };

  std::int64_t leave(std::int64_t now_ns, std::size_t bytes) noexcept;

  LineOptions options_;
  std::deque<Packet> packets_;
  std::size_t taken_ = 0;           // bytes of the first packet
  std::size_t bytes_ = 0;           // in flight
  std::int64_t busy_until_ns_ = 0;  // when the last byte leaves the sender
  std::optional<std::int64_t> end_due_ns_;
};

}  // namespace h2server::lab::relay
