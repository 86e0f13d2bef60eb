// One direction of a long or narrow line: bytes go in at one time and come out at a later one.
// Pure: time is passed in, in nanoseconds of any clock that does not go back, and nothing is sent
// here.
//
// Bytes leave the sender one packet after the other, not faster than the bandwidth, and each packet
// arrives a fixed delay after its last byte left. Nothing overtakes, nothing is lost.
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
  double bytes_per_second = 0;  // 0: as fast as they come
  std::size_t bytes_max = 0;    // under way; more is not to be put in
};

class DelayLine {
 public:
  explicit DelayLine(const LineOptions& options) : options_(options) {}

  // How many bytes may be put in.
  [[nodiscard]] std::size_t room() const noexcept { return options_.bytes_max - bytes_; }
  // At most room(), and not after the end.
  void put(std::int64_t now_ns, std::string_view bytes);
  // The sender will say no more.
  void put_end(std::int64_t now_ns);

  // What has arrived and was not taken, in order, in at most `parts_max` parts. Valid until a call
  // of a function that is not const.
  [[nodiscard]] std::vector<std::string_view> arrived(std::int64_t now_ns,
                                                      std::size_t parts_max) const;
  void take(std::size_t bytes);
  // The end has arrived, and all before it was taken.
  [[nodiscard]] bool end_arrived(std::int64_t now_ns) const noexcept;
  // When the next byte, or the end, arrives, or has arrived; none: nothing is under way.
  [[nodiscard]] std::optional<std::int64_t> next_ns() const noexcept;

 private:
  struct Packet {
    std::int64_t due_ns;
    std::string bytes;
  };

  std::int64_t leave(std::int64_t now_ns, std::size_t bytes) noexcept;

  LineOptions options_;
  std::deque<Packet> packets_;
  std::size_t taken_ = 0;           // of the first packet
  std::size_t bytes_ = 0;           // under way
  std::int64_t busy_until_ns_ = 0;  // when the last byte put in leaves the sender
  std::optional<std::int64_t> end_due_ns_;
};

}  // namespace h2server::lab::relay
