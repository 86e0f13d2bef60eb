// ArchiveFraming: makes the bytes of an archive around the content of its entries.
//
// Pure: does no I/O and reads no clock. One thread at a time. The caller passes entry after entry:
// begin(), the content, end(); then finish() until it returns false. The content itself does not
// pass through: the caller puts it behind what begin() appended.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "h2server/result.h"

namespace h2server::content {

enum class ArchiveFormat : std::uint8_t { tar, zip };

struct ArchiveEntry {
  enum class Kind : std::uint8_t { file, directory };

  // Segments with a '/' between them, not empty; none at either end.
  std::string_view path;
  Kind kind = Kind::file;
  std::uint64_t size = 0;       // bytes of content; 0 for a directory
  std::int64_t modified_s = 0;  // seconds since 1970
};

class ArchiveFraming {
 public:
  ArchiveFraming() = default;
  ArchiveFraming(const ArchiveFraming&) = delete;
  ArchiveFraming& operator=(const ArchiveFraming&) = delete;
  virtual ~ArchiveFraming() = default;

  // Appends what precedes the content. Fails if a limit of the format is reached; then the archive
  // can't be completed.
  virtual Result<void> begin(const ArchiveEntry& entry, std::string& out) = 0;
  // Called with all content of the entry, in order: `size` bytes in all.
  virtual void cover(std::string_view content) = 0;
  // Appends what follows the content.
  virtual void end(std::string& out) = 0;
  // Appends a part of what follows the last entry. Returns false if it was the last part.
  [[nodiscard]] virtual bool finish(std::string& out) = 0;
  // Returns what it keeps until its end, in bytes.
  [[nodiscard]] virtual std::size_t bytes_held() const noexcept { return 0; }
};

}  // namespace h2server::content
