#include "content/cache/disk_counts.h"

#include <memory>

namespace h2server::content {

DiskCounts& DiskCounts::of_process() {
  // Never destroyed: threads that a server left behind may still use it.
  static DiskCounts& counts = *std::make_unique<DiskCounts>().release();
  return counts;
}

std::optional<DiskCounts::Directory> DiskCounts::sum() const {
  const std::lock_guard lock(mutex_);
  if (directories_.empty()) return std::nullopt;
  Directory sum;
  for (const auto& [path, directory] : directories_) {
    sum.objects += directory.objects;
    sum.bytes += directory.bytes;
    sum.bytes_max += directory.bytes_max;
  }
  return sum;
}

}  // namespace h2server::content
