#include "io/file_call.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/magic.h>
#include <sys/vfs.h>
#include <algorithm>

#include <array>
#include <cerrno>

// Since Linux 6.5, newer than the headers of Debian 12.
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

namespace h2server::io {

namespace {

constexpr std::size_t page_bytes = 4096;

struct CacheRange {
  std::uint64_t offset;
  std::uint64_t size;
};

struct CacheState {
  std::uint64_t cached;  // pages
  std::uint64_t dirty;
  std::uint64_t written_back;
  std::uint64_t evicted;
  std::uint64_t recently_evicted;
};

// For kernels without cachestat(): reads the range without waiting, repeatedly into one page.
bool reads_without_waiting(int file, std::uint64_t offset, std::size_t size) {
  std::array<char, page_bytes> page;
  std::array<iovec, 64> pieces;
  pieces.fill({page.data(), page.size()});
  while (size > 0) {
    const std::size_t count = std::min(pieces.size(), (size + page_bytes - 1) / page_bytes);
    const ssize_t got = ::preadv2(file, pieces.data(), static_cast<int>(count),
                                  static_cast<off_t>(offset), RWF_NOWAIT);
    if (got <= 0) return got == 0;  // 0: end of file, nothing to wait for
    size -= std::min(size, static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

bool is_cached(int file, std::uint64_t offset, std::size_t size) {
  const CacheRange range{offset, size};
  CacheState found{};
  if (::syscall(SYS_cachestat, file, &range, &found, 0) != 0) {
    return reads_without_waiting(file, offset, size);
  }
  const std::uint64_t pages = (offset + size - 1) / page_bytes - offset / page_bytes + 1;
  return found.cached >= pages;
}

bool lies_in_memory(int file) noexcept {
  struct statfs found{};
  return ::fstatfs(file, &found) == 0 && found.f_type == TMPFS_MAGIC;
}

int result_of(long outcome) noexcept { return outcome < 0 ? -errno : static_cast<int>(outcome); }

int read_now(const FileCall& call) noexcept {
  const iovec piece{call.memory, call.size};
  const int result =
      result_of(::preadv2(call.descriptor, &piece, 1, static_cast<off_t>(call.offset), RWF_NOWAIT));
  if (result != -EOPNOTSUPP) return result;
  // tmpfs knows no such flag, but what it holds in memory. Of other file systems a page may be
  // known that is still being read.
  if (!lies_in_memory(call.descriptor)) return -EAGAIN;
  if (!is_cached(call.descriptor, call.offset, call.size)) return -EAGAIN;
  return result_of(
      ::pread(call.descriptor, call.memory, call.size, static_cast<off_t>(call.offset)));
}

}  // namespace

FileCall FileCall::open(int directory, const char* path, const open_how& how) noexcept {
  return {.action = Action::open, .descriptor = directory, .path = path, .how = how};
}

FileCall FileCall::read(int file, std::span<char> room, std::uint64_t offset) noexcept {
  return {.action = Action::read,
          .descriptor = file,
          .memory = room.data(),
          .size = room.size(),
          .offset = offset};
}

FileCall FileCall::populate(int file, const char* mapping, std::uint64_t offset,
                            std::size_t size) noexcept {
  const std::uint64_t first = offset / page_bytes * page_bytes;
  return {.action = Action::populate,
          .descriptor = file,
          .memory = const_cast<char*>(mapping) + first,
          .size = size + static_cast<std::size_t>(offset - first),
          .offset = first};
}

FileCall FileCall::run(int (*function)(void*) noexcept, void* argument, bool takes_long) noexcept {
  return {.action = Action::run,
          .descriptor = -1,
          .function = function,
          .memory = argument,
          .takes_long = takes_long};
}

int FileCall::make(bool may_wait) const noexcept {
  switch (action) {
    case Action::open: {
      open_how options = how;
      if (!may_wait) options.resolve |= RESOLVE_CACHED;
      const int result =
          result_of(::syscall(SYS_openat2, descriptor, path, &options, sizeof options));
      // Before Linux 5.12 there is no RESOLVE_CACHED.
      return result == -EINVAL && !may_wait ? -EAGAIN : result;
    }
    case Action::read:
      if (!may_wait) return read_now(*this);
      return result_of(::pread(descriptor, memory, size, static_cast<off_t>(offset)));
    case Action::populate: {
      if (!may_wait) return is_cached(descriptor, offset, size) ? 0 : -EAGAIN;
      const int result = result_of(::madvise(memory, size, MADV_POPULATE_READ));
      return result == -EINVAL ? 0 : result;  // before Linux 5.14: later accesses wait
    }
    case Action::run:
      return may_wait ? function(memory) : -EAGAIN;
  }
  return -EINVAL;
}

}  // namespace h2server::io
