// PartsSource: a body of texts and parts of a file, as multipart/byteranges needs it.
//
// As by a PartSender, the body is complete and of one version of the file, or it is aborted: bytes
// of a mapped file are read with pread(2), and the file is compared with its version after them and
// before the body's end is given. Used on one thread, that of its connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/body.h"
#include "h2server/file.h"

namespace h2server::file {

class PartsSource final : public BodySource {
 public:
  // A text that is not empty, then bytes [first, first + count) of the file. `count` may be 0.
  struct Part {
    std::string text;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  // The memory that a client holds as long as it does not read. HTTP/1.1 writes each piece alone,
  // so pieces of several small parts save system calls.
  static constexpr std::size_t piece_bytes_max = 32 * 1024;

  PartsSource(FileRef file, std::vector<Part> parts);

  // Returns the bytes of the whole body.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  // Fails if the file has changed or can't be read, and with ECANCELED if the engine stops.
  Task<Result<std::string_view>> read() override;

 private:
  const FileRef file_;
  const std::vector<Part> parts_;
  const std::uint64_t size_;
  const std::size_t piece_bytes_;  // room in `piece_`
  const std::unique_ptr<char[]> piece_;
  std::size_t next_ = 0;    // index of the part that is read
  std::uint64_t done_ = 0;  // bytes of it, with its text
};

}  // namespace h2server::file
