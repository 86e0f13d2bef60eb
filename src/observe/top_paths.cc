#include "observe/top_paths.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace h2server::observe {

void TopPaths::count(std::string_view path) {
  path = path.substr(0, path_bytes_max);
  const std::scoped_lock lock(mutex_);
  auto& set = entries_[std::hash<std::string_view>{}(path) % sets];
  const auto same = std::ranges::find_if(
      set, [path](const TopPath& entry) { return entry.count > 0 && entry.path == path; });
  if (same != set.end()) {
    ++same->count;
    return;
  }
  const auto least = std::ranges::min_element(set, {}, &TopPath::count);
  least->path = path;
  least->error = least->count;
  ++least->count;
}

void TopPaths::clear() {
  const std::scoped_lock lock(mutex_);
  entries_ = {};
}

std::vector<TopPath> TopPaths::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<TopPath> found;
  for (const auto& set : entries_) {
    std::ranges::copy_if(set, std::back_inserter(found),
                         [](const TopPath& entry) { return entry.count > 0; });
  }
  return found;
}

std::vector<TopPath> TopPaths::merge(std::vector<TopPath> paths, std::size_t count_max) {
  std::ranges::sort(paths, {}, &TopPath::path);
  std::vector<TopPath> merged;
  for (TopPath& path : paths) {
    if (merged.empty() || merged.back().path != path.path) {
      merged.push_back(std::move(path));
      continue;
    }
    merged.back().count += path.count;
    merged.back().error += path.error;
  }
  std::ranges::sort(merged, [](const TopPath& a, const TopPath& b) {
    return std::tie(b.count, a.path) < std::tie(a.count, b.path);
  });
  if (merged.size() > count_max) merged.resize(count_max);
  return merged;
}

}  // namespace h2server::observe
