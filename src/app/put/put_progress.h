// PutProgress: shows how far a file is sent: a bar on a terminal, otherwise a line now and then.
//
// For one thread. Writes to standard error.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace h2server::app {

// Returns "name  [####    ]  42 %  1.2 MiB/s  0:12", as wide as `columns` at most.
struct PutFigures {
  std::string_view name;
  std::uint64_t sent = 0;  // bytes
  std::uint64_t size = 0;
  double bytes_per_s = 0;  // 0: not known yet
};
std::string progress_line(const PutFigures& figures, std::size_t columns);

class PutProgress {
 public:
  enum class Shape : std::uint8_t { bar, lines, nothing };

  PutProgress(Shape shape, std::string name, std::uint64_t size);

  void update(std::uint64_t sent);
  // Prints a line of text above the bar, unless nothing is to be shown.
  void note(std::string_view text);
  // Removes the bar.
  void end();

 private:
  using Clock = std::chrono::steady_clock;

  void measure(std::uint64_t sent, Clock::time_point now);

  const Shape shape_;
  const std::string name_;
  const std::uint64_t size_;
  Clock::time_point shown_ = Clock::time_point::min();
  Clock::time_point measured_ = Clock::time_point::min();
  std::uint64_t sent_ = 0;  // when it was measured
  double bytes_per_s_ = 0;
  bool has_bar_ = false;
};

}  // namespace h2server::app
