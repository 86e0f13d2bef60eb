// Content: the bytes of one version of a regular file. A small file's are held in memory, a larger
// file is mapped. The bytes of a mapping belong to the version only while unchanged() returns true.
// A larger file on a slow file system (file/slow_file_system.h) is not mapped: copy() reads it, and
// only what may wait calls unchanged() and copy().
//
// A snapshot is a copy of a file in a sealed memfd: nothing changes or truncates its bytes, so they
// can be sent from the mapping or, by sendfile(), from the descriptor without a check.
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
  // Copies the version from an open file. Waits for the disk. Returns null if the file changed, if
  // all snapshots of the process, with those that are only being sent, would have more than
  // `bytes_max`, or if the system lacks memory, descriptors or memfd_create().
  static std::unique_ptr<const Content> snapshot(const FileVersion& version, int descriptor,
                                                 std::uint64_t bytes_max);
  // Bytes of all snapshots of the process.
  [[nodiscard]] static std::uint64_t snapshot_bytes() noexcept;

  // The version of an open file on a slow file system. Keeps a descriptor of its place only
  // (O_PATH), since to close another may wait. Returns null if the system lacks descriptors.
  static std::unique_ptr<const Content> on_slow_file_system(const FileVersion& version,
                                                            base::Fd descriptor);

  // What `descriptor` of the constructor below leads to; memory: it has none.
  enum class Source : std::uint8_t { memory, file, slow_file, snapshot };
  // Takes over the mapping of all bytes, null for a slow file. Those of a snapshot have been
  // counted.
  Content(const FileVersion& version, const char* mapping, base::Fd descriptor,
          Source source) noexcept;
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  ~Content();

  [[nodiscard]] const FileVersion& version() const noexcept { return version_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return version_.size; }
  // Null if may_wait().
  [[nodiscard]] const char* bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool mapped() const noexcept { return source_ == Source::file; }
  // Returns true if unchanged() and copy() may wait as long as a read does.
  [[nodiscard]] bool may_wait() const noexcept { return source_ == Source::slow_file; }
  // Returns true if the bytes are the file's own and change with it.
  [[nodiscard]] bool changes_with_file() const noexcept { return mapped() || may_wait(); }
  [[nodiscard]] bool is_snapshot() const noexcept { return source_ == Source::snapshot; }
  // Returns true for all that is not held in memory.
  [[nodiscard]] bool has_descriptor() const noexcept { return descriptor_.valid(); }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
  // Compares a file with its version by fstat. Always true for bytes in memory and snapshots.
  [[nodiscard]] bool unchanged() const noexcept;
  // Copies bytes of this version from `offset` on. Returns false if the file changed or can't be
  // read. May wait for the disk. No access to the mapping, so the file may shrink meanwhile.
  [[nodiscard]] bool copy(std::span<char> room, std::uint64_t offset) const;

 private:
  const FileVersion version_;
  const std::unique_ptr<char[]> held_;
  const char* bytes_;
  const base::Fd descriptor_;
  const Source source_ = Source::memory;
};

}  // namespace h2server::file
