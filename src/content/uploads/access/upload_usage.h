// UploadUsage: how many bytes each token has uploaded, in memory that all workers and all processes
// share, and that outlives them if it is a file's. Counting writes nothing: the kernel does, later,
// also when the process is killed.
//
// Any thread. Must outlive the counters.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "h2server/result.h"

namespace h2server::content {

class UploadUsage {
 public:
  static constexpr std::size_t tokens_max = 1000;
  using Digest = std::array<unsigned char, 32>;
  using Counter = std::atomic<std::uint64_t>;

  // Of this process and those that it forks.
  static Result<UploadUsage, int> in_memory();
  // Opens or makes the file (0600). Servers may use one at the same time. The error is an errno
  // value: EINVAL for a file of something else. Blocks on the disk.
  static Result<UploadUsage, int> open(const std::string& path);

  // Returns the counter of the token with that digest, 0 at first; null if there are too many. Used
  // while a server starts; other servers with the same file wait.
  [[nodiscard]] Counter* find(const Digest& digest);

 private:
  struct Slot {
    Digest digest;  // zeros: free
    Counter bytes;
  };
  struct Page;
  struct Unmap {
    void operator()(Page* page) const noexcept;
  };

  explicit UploadUsage(Page* page, std::string path) : page_(page), path_(std::move(path)) {}
  static Result<UploadUsage, int> map(int file, std::string path);

  std::unique_ptr<Page, Unmap> page_;
  std::string path_;  // empty: in memory
};

}  // namespace h2server::content
