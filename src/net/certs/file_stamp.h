// FileStamp: tells whether a file has changed, without reading it.
#pragma once

#include <cstdint>
#include <string>

namespace h2server::net {

// What stat() says of a file; links are followed. All zero: it can't be looked at, as if there were
// none.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t bytes = 0;
  std::int64_t content_ns = 0;  // the last change to the content, in nanoseconds since 1970
  std::int64_t inode_ns = 0;    // to anything, also the name

  bool operator==(const FileStamp&) const = default;
};

FileStamp stamp_of(const std::string& file);

// Returns true if an equal stamp taken later shows that the file is the same. Changes within one
// tick of the kernel's clock have the same time, so a file that has just changed may change again
// without a trace. `now_ns` is when the stamp was taken.
bool is_telling(const FileStamp& stamp, std::int64_t now_ns) noexcept;

}  // namespace h2server::net
