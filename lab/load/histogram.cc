#include "load/histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

namespace h2server::lab::load {

namespace {

constexpr double us_per_ms = 1000;
constexpr int ticks_per_half_distance = 5;  // as HdrHistogram's tools print

// Returns the next percentile to print: five steps per halving of the remaining distance to 100.
double next_percentile(double percentile) {
  const double halvings = std::floor(std::log2(100 / (100 - percentile))) + 1;
  return percentile + 100 / (ticks_per_half_distance * std::exp2(halvings));
}

}  // namespace

Histogram::Histogram() : counts_((doublings + 1) * half) {}

// Below 2 * half each value has its own bucket. Above, the leading 11 bits select the bucket.
std::size_t Histogram::index_of(std::uint64_t value_us) noexcept {
  const auto shift =
      static_cast<unsigned>(std::bit_width(value_us | (2 * half - 1))) - (half_bits + 1);
  return static_cast<std::size_t>(shift * half + (value_us >> shift));
}

std::uint64_t Histogram::upper_end(std::size_t index) noexcept {
  if (index < 2 * half) return index;
  const std::uint64_t shift = index / half - 1;
  return ((index - shift * half + 1) << shift) - 1;
}

void Histogram::record(std::uint64_t value_us, std::uint64_t count) noexcept {
  if (count == 0) return;
  const std::uint64_t value = std::clamp<std::uint64_t>(value_us, 1, value_us_max);
  counts_[index_of(value)] += count;
  count_ += count;
  max_us_ = std::max(max_us_, value);
  const auto number = static_cast<double>(value);
  sum_us_ += number * static_cast<double>(count);
  sum_of_squares_ += number * number * static_cast<double>(count);
}

void Histogram::merge(const Histogram& other) noexcept {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  max_us_ = std::max(max_us_, other.max_us_);
  sum_us_ += other.sum_us_;
  sum_of_squares_ += other.sum_of_squares_;
}

double Histogram::mean_us() const noexcept {
  return count_ == 0 ? 0 : sum_us_ / static_cast<double>(count_);
}

double Histogram::deviation_us() const noexcept {
  if (count_ == 0) return 0;
  const double mean = mean_us();
  // Rounding may give a negative variance if all values are equal.
  return std::sqrt(std::max(0.0, sum_of_squares_ / static_cast<double>(count_) - mean * mean));
}

std::uint64_t Histogram::value_at_percentile(double percentile) const noexcept {
  if (count_ == 0) return 0;
  const double share = std::clamp(percentile, 0.0, 100.0) / 100;
  // 0.999 * 1000 is 999.0000000000001. Without the correction the rank would be one too high.
  const double exact = share * static_cast<double>(count_);
  const auto rank =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(exact - exact * 1e-12)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank) return std::min(upper_end(i), max_us_);
  }
  return max_us_;
}

std::uint64_t Histogram::count_up_to(std::uint64_t value_us) const noexcept {
  std::uint64_t seen = 0;
  const std::size_t last = index_of(value_us);
  for (std::size_t i = 0; i <= last; ++i) seen += counts_[i];
  return seen;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> Histogram::buckets() const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> filled;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] > 0) filled.emplace_back(upper_end(i), counts_[i]);
  }
  return filled;
}

std::string Histogram::hgrm() const {
  std::string text = fmt::format("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile",
                                 "TotalCount", "1/(1-Percentile)");
  const auto out = std::back_inserter(text);
  double percentile = 0;
  for (; count_ > 0;) {
    const std::uint64_t value = value_at_percentile(percentile);
    const std::uint64_t seen = count_up_to(value);
    if (seen == count_) break;
    fmt::format_to(out, "{:12.3f} {:14.12f} {:10} {:14.2f}\n",
                   static_cast<double>(value) / us_per_ms, percentile / 100, seen,
                   100 / (100 - percentile));
    percentile = next_percentile(percentile);
  }
  if (count_ > 0) {
    fmt::format_to(out, "{:12.3f} {:14.12f} {:10} {:>14}\n",
                   static_cast<double>(max_us_) / us_per_ms, 1.0, count_, "inf");
  }
  fmt::format_to(out, "#[Mean    = {:12.3f}, StdDeviation   = {:12.3f}]\n", mean_us() / us_per_ms,
                 deviation_us() / us_per_ms);
  fmt::format_to(out, "#[Max     = {:12.3f}, Total count    = {:12}]\n",
                 static_cast<double>(max_us_) / us_per_ms, count_);
  fmt::format_to(out, "#[Buckets = {:12}, SubBuckets     = {:12}]\n", doublings, 2 * half);
  return text;
}

}  // namespace h2server::lab::load
