// Content: the bytes of one version of a regular file. A small file's are held in memory, a larger
// file is mapped. The bytes of a mapping belong to the version only while unchanged() returns true.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/fd.h"

namespace h2server::file {

// Identifies a version: a file that was written, truncated or replaced has another one.
struct FileVersion {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;  // bytes
  std::int64_t modified_s = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_s = 0;  // of content or attributes; unlike `modified`, it can't be set
  std::int64_t changed_ns = 0;
  std::uint64_t links = 0;

  bool operator==(const FileVersion&) const = default;
};

// Returns the version that an open descriptor leads to, or nullopt if fstat fails.
[[nodiscard]] std::optional<FileVersion> version_of(int descriptor);
// Returns true if every later write has a later time than the version's.
[[nodiscard]] bool is_settled(const FileVersion& version);
// Fills `room` with bytes of the file from `offset` on. Returns false if the file has fewer bytes
// there or reading fails.
[[nodiscard]] bool read_whole(int descriptor, std::span<char> room, std::uint64_t offset);

// Immutable; any thread.
class Content {
 public:
  // `bytes` has version.size of them.
  Content(const FileVersion& version, std::unique_ptr<char[]> bytes) noexcept;
  // Returns null if the file can't be mapped.
  static std::unique_ptr<const Content> map(const FileVersion& version, base::Fd descriptor);
  // Takes over the mapping of the whole file.
  Content(const FileVersion& version, const char* mapping, base::Fd descriptor) noexcept;
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  ~Content();

  [[nodiscard]] const FileVersion& version() const noexcept { return version_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return version_.size; }
  [[nodiscard]] const char* bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool mapped() const noexcept { return descriptor_.valid(); }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }  // if mapped
  // Compares a mapped file with its version by fstat. Always true for bytes in memory.
  [[nodiscard]] bool unchanged() const noexcept;
  // Copies bytes of this version from `offset` on. Returns false if the file changed or can't be
  // read. May wait for the disk. No access to the mapping, so the file may shrink meanwhile.
  [[nodiscard]] bool copy(std::span<char> room, std::uint64_t offset) const;

 private:
  const FileVersion version_;
  const std::unique_ptr<char[]> held_;
  const char* bytes_;
  const base::Fd descriptor_;
};

}  // namespace h2server::file
