// TurnTimes: how long the turns of an event loop took. A turn is the time from the return of a wait
// for the kernel until the next one, in which the loop handles what is ready, one after the other.
//
// The loop's thread writes, any thread reads. Consists of counters only, so that processes may
// share it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/counter.h"

namespace h2server::io {

class TurnTimes {
 public:
  // Upper bounds of buckets in microseconds; the last bucket has none. The loop's clock ticks every
  // 1 to 10 ms, so there is none below. 100 ms are what a person notices; from a second on clients
  // give up.
  static constexpr std::array<std::uint32_t, 7> bounds_us{10'000,  25'000,    50'000,    100'000,
                                                          250'000, 1'000'000, 10'000'000};
  static constexpr std::size_t buckets = bounds_us.size() + 1;
  // The loop's thread. Most turns end in the tick in which they began.
  void add(std::int64_t ms) noexcept {
    if (ms <= 0) counts_[0].up();
    else add_longer(static_cast<std::uint64_t>(ms));
  }

  // Any thread.
  [[nodiscard]] std::uint64_t total() const noexcept {
    std::uint64_t sum = 0;
    for (const base::Counter& count : counts_) sum += count.get();
    return sum;
  }
  // What is in each bucket alone.
  [[nodiscard]] std::vector<std::uint64_t> counts() const {
    std::vector<std::uint64_t> all;
    for (const base::Counter& count : counts_) all.push_back(count.get());
    return all;
  }
  [[nodiscard]] std::uint64_t sum_ms() const noexcept { return sum_ms_.get(); }

 private:
  void add_longer(std::uint64_t ms) noexcept {
    const auto* const bound = std::ranges::lower_bound(bounds_us, ms * 1000);
    counts_[static_cast<std::size_t>(bound - bounds_us.begin())].up();
    sum_ms_.set(sum_ms_.get() + ms);
  }

  std::array<base::Counter, buckets> counts_{};
  base::Counter sum_ms_;
};

// Who wants to know the turns of one engine. The engine's thread.
struct TurnWatch {
  static constexpr std::int64_t usual_ms_max = 100;

  TurnTimes& times;
  // Called at the end of a turn of more than usual_ms_max, with its ms and the time.
  std::function<void(std::int64_t ms, std::int64_t now_ms)> on_long;

  void note(std::int64_t ms, std::int64_t now_ms) {
    times.add(ms);
    if (ms > usual_ms_max) on_long(ms, now_ms);
  }
};

}  // namespace h2server::io
