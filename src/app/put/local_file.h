// LocalFile: a file that is sent, with its SHA-256, which is computed of the pieces as they are
// sent.
//
// For one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "content/storage/file_digest.h"
#include "h2server/result.h"

namespace h2server::app {

class LocalFile {
 public:
  // The error is an errno value: EISDIR or ENOTSUP for what is no regular file.
  static Result<LocalFile, int> open(const std::string& path);

  [[nodiscard]] int fd() const noexcept { return file_.get(); }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // Returns a text that differs for another file, and for this one once it has changed.
  [[nodiscard]] const std::string& identity() const noexcept { return identity_; }
  // Returns true if it has changed since it was opened.
  [[nodiscard]] bool changed() const;

  // Takes a piece into the digest. Pieces may overlap, and leave gaps, which are read.
  void see(std::string_view piece, std::uint64_t offset);
  // Returns 64 hexadecimal digits. Reads what was not seen. The error is an errno value; -1: it has
  // become shorter.
  Result<std::string, int> sha256();

 private:
  LocalFile() = default;
  // Reads up to `end` into the digest.
  void read_until(std::uint64_t end);

  base::Fd file_;
  std::string path_;
  std::uint64_t size_ = 0;
  std::string identity_;
  content::Sha256 digest_;
  std::uint64_t seen_ = 0;  // the digest is that of so many bytes
  int error_ = 0;           // of a gap that could not be read
};

}  // namespace h2server::app
