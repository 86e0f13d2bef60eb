// PartsSource: a body of texts and parts of a file, as multipart/byteranges needs it.
//
// As by a PartSender, the body is complete and of one version of the file, or it is aborted: bytes
// of a mapped file are read with pread(2), and the file is compared with its version after them and
// before the body's end is given. A file on a slow file system is sent by it always, and a thread
// does both. Used on one thread, that of its connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory/memory_budget.h"
#include "file/slow_descriptor.h"
#include "h2server/body.h"
#include "h2server/file.h"

namespace h2server::file {

class PartsSource final : public BodySource {
 public:
  // A text, then bytes [first, first + count) of the file. One of the two may be empty.
  struct Part {
    std::string text = {};
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  // A response holds so much while its client reads no more than a first piece. HTTP/1.1 writes
  // each piece alone, so pieces of several small parts save system calls.
  static constexpr std::size_t piece_bytes_max = 32 * 1024;
  // Of a file on a slow file system, where each piece is a thread's turn.
  static constexpr std::size_t slow_piece_bytes_max = 64 * 1024;

  PartsSource(FileRef file, std::vector<Part> parts);

  // Returns the bytes of the whole body.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  // Fails if the file has changed or can't be read, and with ECANCELED if the engine stops.
  Task<Result<std::string_view>> read() override;
  [[nodiscard]] bool reads_request() const noexcept override { return false; }
  [[nodiscard]] std::size_t bytes_held() const noexcept override { return charge_.bytes(); }

 private:
  // What comes next into a piece: a text, or bytes of the file from an offset on.
  struct Step {
    std::size_t count = 0;
    std::optional<std::uint64_t> offset = {};  // none: the text has been copied
  };
  Step next_step(std::span<char> room);
  void advance(std::size_t count);
  // Returns the room for a piece, made for the first.
  std::span<char> make_piece();
  // Returns the size of the next piece. Waits for the file.
  Result<std::size_t> fill();
  Task<Result<std::string_view>> read_on_thread();

  const FileRef file_;
  const std::vector<Part> parts_;
  const std::uint64_t size_;
  const std::size_t piece_bytes_;  // room in `piece_`
  std::unique_ptr<char[]> piece_;  // since the first read: many may wait for their clients
  base::MemoryCharge charge_{base::MemoryOwner::bodies};
  SlowDescriptor opened_;   // of a file on a slow file system
  std::size_t next_ = 0;    // index of the part that is read
  std::uint64_t done_ = 0;  // bytes of it, with its text
};

}  // namespace h2server::file
