// FileCall: a call on a file that may have to wait for the disk.
#pragma once

#include <linux/openat2.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace h2server::io {

struct FileCall {
  enum class Action : std::uint8_t { open, read, populate, run };

  // As openat2(2). `path` must stay valid until the call completes.
  static FileCall open(int directory, const char* path, const open_how& how) noexcept;
  // As pread(2).
  static FileCall read(int file, std::span<char> room, std::uint64_t offset) noexcept;
  // Reads a part of a mapped file into the page cache, so that access to it does not wait for the
  // disk. `mapping` is the address of the file's first byte.
  static FileCall populate(int file, const char* mapping, std::uint64_t offset,
                           std::size_t size) noexcept;
  // Calls function(argument), for anything else that may wait for the disk. It must not return
  // -EAGAIN. One that takes long has threads of its own.
  static FileCall run(int (*function)(void*) noexcept, void* argument, bool takes_long) noexcept;

  // Returns a descriptor, a count or 0, or a negative errno value. If `may_wait` is false, returns
  // -EAGAIN instead of waiting for the disk.
  [[nodiscard]] int make(bool may_wait) const noexcept;

  Action action;
  int descriptor;  // the directory for open, else the file
  const char* path = nullptr;
  open_how how{};
  int (*function)(void*) noexcept = nullptr;
  void* memory = nullptr;  // for run: the argument
  std::size_t size = 0;    // bytes
  std::uint64_t offset = 0;
  std::uint64_t client = 0;  // for whom, see coro::StopState::client()
  bool takes_long = false;
  bool reads = false;             // of run: has the threads of reads, which do not wait for writes
  bool slow_file_system = false;  // of run: has threads of its own
};

}  // namespace h2server::io
