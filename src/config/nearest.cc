#include "config/nearest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace h2server::config {

namespace {

// The distance of optimal string alignment, by rows of the usual table.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest_of(std::string_view word, std::span<const std::string_view> names) {
  constexpr std::size_t word_bytes_max = 64;  // no name is nearly as long
  if (word.size() > word_bytes_max) return {};
  std::string_view nearest;
  std::size_t least = word.size() / 4 + 2;  // one of three letters may be wrong, two of four
  if (word.size() < 3) least = 2;
  for (const std::string_view name : names) {
    const std::size_t away = distance(word, name);
    if (away >= least) continue;
    least = away;
    nearest = name;
  }
  return nearest;
}

}  // namespace h2server::config
