// TopPaths: the paths that are requested most often, approximately, in bounded memory.
//
// The space-saving algorithm (Metwally, Agrawal, El Abbadi: "Efficient computation of frequent and
// top-k elements in data streams", 2005), on four sets of sixteen entries: a path that has no entry
// takes over the smallest one of its set, with its count as the error. Any thread; a lock is taken.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace h2server::observe {

struct TopPath {
  std::string path;         // its first bytes
  std::uint64_t count = 0;  // at most this often
  std::uint64_t error = 0;  // at least count - error times
};

class TopPaths {
 public:
  static constexpr std::size_t path_bytes_max = 200;

  void count(std::string_view path);
  void clear();
  // All entries, in no order.
  [[nodiscard]] std::vector<TopPath> all() const;

  // Sums up what several have counted, and returns the first `count_max`, the largest first.
  static std::vector<TopPath> merge(std::vector<TopPath> paths, std::size_t count_max);

 private:
  static constexpr std::size_t sets = 4;
  static constexpr std::size_t ways = 16;

  mutable std::mutex mutex_;
  std::array<std::array<TopPath, ways>, sets> entries_;
};

}  // namespace h2server::observe
