// ZipFraming: a zip archive (APPNOTE.TXT 6.3) whose entries are stored, not compressed.
//
// The CRC-32 of a file follows its content, in a data descriptor; zip64 is used where an entry, an
// offset or the number of entries needs it. Names are UTF-8. The central directory, which follows
// the last entry, is held until then: 91 bytes at most for each entry, most often 55, and its path.
#pragma once

#include <cstddef>
#include <deque>

#include "content/archive/archive_framing.h"

namespace h2server::content {

struct ZipLimits {
  std::size_t entries_max = 1'000'000;  // each costs memory until the archive ends
  std::size_t directory_bytes_max = 128UL * 1024 * 1024;  // for a million entries of 80 bytes
};

class ZipFraming final : public ArchiveFraming {
 public:
  explicit ZipFraming(const ZipLimits& limits = {}) : limits_(limits) {}

  // The path must be valid UTF-8. Fails if it is longer than 65535 bytes or a limit is exceeded.
  Result<void> begin(const ArchiveEntry& entry, std::string& out) override;
  void cover(std::string_view content) override;
  void end(std::string& out) override;
  // Appends up to 60 KiB of the central directory, or one longer header.
  bool finish(std::string& out) override;
  std::size_t bytes_held() const noexcept override { return directory_bytes_; }

 private:
  struct Current {
    std::string path;  // a directory's ends with '/'
    ArchiveEntry::Kind kind = ArchiveEntry::Kind::file;
    std::uint64_t size = 0;
    std::int64_t modified_s = 0;
    std::uint64_t offset = 0;  // of its local header
    std::uint32_t crc = 0;
  };

  Result<void> check_limits(const ArchiveEntry& entry) const;
  void append_central_header();
  void append_end(std::string& out) const;

  const ZipLimits limits_;
  Current current_;
  std::uint64_t offset_ = 0;  // bytes of the archive so far, up to the central directory
  std::uint64_t entries_ = 0;
  std::uint64_t directory_bytes_ = 0;
  std::deque<std::string> directory_;  // whole headers, in blocks of 60 KiB
};

}  // namespace h2server::content
