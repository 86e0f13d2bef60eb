// Latencies by HdrHistogram's log-linear buckets: three significant digits from 1 µs to 1 h, so
// that no value is told by more than 0.1 % too high, and recording one costs a shift and an
// increment.
//
// Not the recorder of who waited for whom: what a value is measured from is its user's business.
// One owner, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace h2server::lab::load {

class Histogram {
 public:
  static constexpr std::uint64_t value_us_max = 3'600'000'000;  // one hour; longer is told as this

  Histogram();

  // Values below 1 µs count as 1 µs.
  void record(std::uint64_t value_us, std::uint64_t count = 1) noexcept;
  void merge(const Histogram& other) noexcept;

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t max_us() const noexcept { return max_us_; }  // exact
  [[nodiscard]] double mean_us() const noexcept;                           // exact; 0 when empty
  [[nodiscard]] double deviation_us() const noexcept;
  // The value that `percentile` (0 to 100) percent of all do not exceed: the upper end of its
  // bucket, or the largest value where that is less. 0 when empty.
  [[nodiscard]] std::uint64_t value_at_percentile(double percentile) const noexcept;
  // (upper end in µs, count) of every bucket that holds something, ascending.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> buckets() const;
  // HdrHistogram's percentile distribution, in ms: what its plotters read.
  [[nodiscard]] std::string hgrm() const;

 private:
  static constexpr unsigned half_bits = 10;  // 2^10 buckets for each doubling: 3 digits
  static constexpr std::uint64_t half = 1U << half_bits;
  static constexpr unsigned doublings = 22;  // 2 * half << 21 lies above one hour

  [[nodiscard]] static std::size_t index_of(std::uint64_t value_us) noexcept;
  [[nodiscard]] static std::uint64_t upper_end(std::size_t index) noexcept;
  // How many values lie at or below `value_us`, a bucket's upper end.
  [[nodiscard]] std::uint64_t count_up_to(std::uint64_t value_us) const noexcept;

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::uint64_t max_us_ = 0;
  double sum_us_ = 0;
  double sum_of_squares_ = 0;
};

}  // namespace h2server::lab::load
