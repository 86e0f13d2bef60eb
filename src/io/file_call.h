// Calls on files that may have to wait for the disk.
#pragma once

#include <linux/openat2.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace h2server::io {

struct FileCall {
  enum class Action : std::uint8_t { open, read, populate, run };

  // As openat2(2). `path` stays as it is until the call is done.
  static FileCall open(int directory, const char* path, const open_how& how) noexcept;
  // As pread(2).
  static FileCall read(int file, std::span<char> room, std::uint64_t offset) noexcept;
  // Brings a part of a mapped file into the page cache, so that using it does not wait for the
  // disk. `mapping` is where the file's first byte is mapped.
  static FileCall populate(int file, const char* mapping, std::uint64_t offset,
                           std::size_t size) noexcept;
  // function(argument), for all else that may wait for the disk. Its result is not -EAGAIN.
  static FileCall run(int (*function)(void*) noexcept, void* argument) noexcept;

  // A descriptor, a count or 0; or a negative errno value. `may_wait` false: -EAGAIN instead of
  // waiting for the disk.
  [[nodiscard]] int make(bool may_wait) const noexcept;

  Action action;
  int descriptor;  // a directory's for open, else the file's
  const char* path = nullptr;
  open_how how{};
  int (*function)(void*) noexcept = nullptr;
  void* memory = nullptr;  // for run: the argument
  std::size_t size = 0;    // bytes
  std::uint64_t offset = 0;
};

}  // namespace h2server::io
