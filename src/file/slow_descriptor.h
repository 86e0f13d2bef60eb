// SlowDescriptor: an open file on a slow file system (file/slow_file_system.h), where close() may
// wait as long as a read. Used by one thread at a time.
//
// Threads that may wait open, use and close it. If it is destroyed before that, as when a client
// leaves, it is closed by the next thread that opens or closes one.
#pragma once

#include <cstddef>

#include "base/fd.h"

namespace h2server::file {

// Opens the file of a descriptor once more, with flags of openat(2). A path would be looked up
// again, and might lead elsewhere by now. Returns no descriptor, and errno, without /proc.
[[nodiscard]] base::Fd reopen(int descriptor, int flags);

class SlowDescriptor {
 public:
  SlowDescriptor() = default;
  SlowDescriptor(const SlowDescriptor&) = delete;
  SlowDescriptor& operator=(const SlowDescriptor&) = delete;
  ~SlowDescriptor();  // does not wait

  // Returns a descriptor to read the file that `place` leads to, or -1. May wait.
  int open_once(int place);
  // May wait.
  void close();
  // Those that were destroyed and are still open. Any thread.
  [[nodiscard]] static std::size_t left_open() noexcept;

 private:
  base::Fd descriptor_;
};

}  // namespace h2server::file
