// DiskCounts: what the caches of objects on disks have done, for metrics.
//
// Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace h2server::content {

class DiskCounts {
 public:
  // Of all caches, also of those before a reload.
  static DiskCounts& of_process();

  std::atomic<std::uint64_t> hits{0};    // responses from a file
  std::atomic<std::uint64_t> misses{0};  // whole objects from a store, of those that are kept
  std::atomic<std::uint64_t> evictions{0};
  std::atomic<std::uint64_t> failures{0};  // of the disk, and damaged files

  struct Directory {
    std::uint64_t objects = 0;
    std::uint64_t bytes = 0;
    std::uint64_t bytes_max = 0;
  };
  void set(const std::string& path, const Directory& directory) {
    const std::lock_guard lock(mutex_);
    directories_[path] = directory;
  }
  // Returns the sum of all directories; nullopt if there was none.
  [[nodiscard]] std::optional<Directory> sum() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Directory> directories_;
};

}  // namespace h2server::content
