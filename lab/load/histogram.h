// Latency histogram with HdrHistogram's log-linear buckets: three significant digits from 1 µs to 1
// h. Reported values are at most 0.1 % too high. Recording costs a shift and an increment.
//
// The caller decides what a value is measured from. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace h2server::lab::load {

class Histogram {
 public:
  static constexpr std::uint64_t value_us_max = 3'600'000'000;  // one hour; clamps longer ones

  Histogram();

  // Values below 1 µs count as 1 µs.
  void record(std::uint64_t value_us, std::uint64_t count = 1) noexcept;
  void merge(const Histogram& other) noexcept;

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t max_us() const noexcept { return max_us_; }  // exact
  [[nodiscard]] double mean_us() const noexcept;                           // exact; 0 when empty
  [[nodiscard]] double deviation_us() const noexcept;
  // Returns the value that `percentile` (0 to 100) percent of all values do not exceed: the upper
  // end of its bucket, or the maximum if that is less. Returns 0 if empty.
  [[nodiscard]] std::uint64_t value_at_percentile(double percentile) const noexcept;
  // Returns (upper end in µs, count) of every non-empty bucket, ascending.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> buckets() const;
  // Returns HdrHistogram's percentile distribution in ms, the input of its plotters.
  [[nodiscard]] std::string hgrm() const;

 private:
  static constexpr unsigned half_bits = 10;  // 2^10 buckets per doubling: 3 digits
  static constexpr std::uint64_t half = 1U << half_bits;
  static constexpr unsigned doublings = 22;  // 2 * half << 21 is above one hour

  [[nodiscard]] static std::size_t index_of(std::uint64_t value_us) noexcept;
  [[nodiscard]] static std::uint64_t upper_end(std::size_t index) noexcept;
  // Returns how many values are at most `value_us`, which is the upper end of a bucket.
  [[nodiscard]] std::uint64_t count_up_to(std::uint64_t value_us) const noexcept;

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::uint64_t max_us_ = 0;
  double sum_us_ = 0;
  double sum_of_squares_ = 0;
};

}  // namespace h2server::lab::load
