#include "net/certs/file_stamp.h"

#include <sys/stat.h>

namespace h2server::net {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

std::int64_t nanoseconds_of(const timespec& time) noexcept {
  return std::int64_t{time.tv_sec} * second_ns + time.tv_nsec;
}

}  // namespace

FileStamp stamp_of(const std::string& file) {
  struct stat facts{};
  // Why it can't be looked at does not matter: reading it tells.
  if (file.empty() || ::stat(file.c_str(), &facts) != 0) return {};
  return {.device = facts.st_dev,
          .inode = facts.st_ino,
          .bytes = facts.st_size,
          .content_ns = nanoseconds_of(facts.st_mtim),
          .inode_ns = nanoseconds_of(facts.st_ctim)};
}

bool is_telling(const FileStamp& stamp, std::int64_t now_ns) noexcept {
  return stamp.inode_ns < now_ns - second_ns && stamp.content_ns < now_ns - second_ns;
}

}  // namespace h2server::net
