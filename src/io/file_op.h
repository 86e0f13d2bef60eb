// Operations on files. They are tried at once and complete when the page cache has what they want;
// else they go where waiting for the disk holds up nobody: io_uring's workers or FileThreads.
#pragma once

#include <linux/openat2.h>

#include <cstddef>
#include <cstdint>

#include "base/fd.h"
#include "io/op.h"

namespace h2server::io {

class FileOp : public Op {
 public:
  enum class Action : std::uint8_t { open, read, populate };

  // Makes the system call: a count, a descriptor or 0, or a negative errno value. `may_wait` false:
  // -EAGAIN instead of waiting for the disk.
  [[nodiscard]] int call(bool may_wait) const noexcept;

  const Action action;
  const int descriptor;  // a directory's for open, else the file's
  const char* path = nullptr;
  open_how how{};
  void* memory = nullptr;
  std::size_t size = 0;  // bytes
  std::uint64_t offset = 0;

 protected:
  FileOp(Engine& where, Action what, int file) noexcept
      : Op(Kind::file, where, nullptr, 0), action(what), descriptor(file) {}
};

// As openat2(2). `relative` outlives the operation.
class OpenFileOp final : public FileOp {
 public:
  OpenFileOp(Engine& where, int directory, const char* relative, const open_how& options) noexcept
      : FileOp(where, Action::open, directory) {
    path = relative;
    how = options;
  }
  // The error is an errno value.
  Result<base::Fd, int> await_resume() const noexcept {
    if (state.result < 0) return std::unexpected(-state.result);
    return base::Fd(state.result);
  }
};

// As pread(2).
class ReadFileOp final : public FileOp {
 public:
  ReadFileOp(Engine& where, int file, std::span<char> room, std::uint64_t from) noexcept
      : FileOp(where, Action::read, file) {
    memory = room.data();
    size = room.size();
    offset = from;
  }
  Result<std::size_t, int> await_resume() const noexcept {
    if (state.result < 0) return std::unexpected(-state.result);
    return static_cast<std::size_t>(state.result);
  }
};

// Brings a part of a mapped file into the page cache, so that using it does not wait for the disk.
class PopulateOp final : public FileOp {
 public:
  // `mapping` is where the file's first byte is mapped.
  PopulateOp(Engine& where, int file, const char* mapping, std::uint64_t from,
             std::size_t bytes) noexcept;
  // False: the bytes can't be had (the file shrank, the disk failed).
  bool await_resume() const noexcept { return state.result >= 0; }
};

}  // namespace h2server::io
