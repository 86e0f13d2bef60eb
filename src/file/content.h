// Content: the bytes of one version of a regular file. A small file's are held in memory, a larger
// file is mapped. The bytes of a mapping belong to the version only while check() succeeds. A
// larger file on a slow file system (file/slow_file_system.h), and one that can't be mapped, is
// read by copy(), and only what may wait calls unchanged(), check() and copy().
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
#include "file/content_sample.h"
#include "h2server/result.h"

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
  // Returns a file to be read, as the next one, if it can't be mapped: it is larger than what the
  // process has left of its address space, or its file system has no mappings; errno says why.
  static std::unique_ptr<const Content> map(const FileVersion& version, base::Fd descriptor);
  // Copies the version from an open file. Waits for the disk. Returns null if the file changed, if
  // all snapshots of the process, with those that are only being sent, would have more than
  // `bytes_max`, or if the system lacks memory, descriptors or memfd_create().
  static std::unique_ptr<const Content> snapshot(const FileVersion& version, int descriptor,
                                                 std::uint64_t bytes_max);
  // Bytes of all snapshots of the process.
  [[nodiscard]] static std::uint64_t snapshot_bytes() noexcept;

  // The version of an open file on a slow file system. Waits for it. Keeps a descriptor of its
  // place only (O_PATH), since to close another may wait. Returns null if the system lacks
  // descriptors.
  static std::unique_ptr<const Content> on_slow_file_system(const FileVersion& version,
                                                            base::Fd descriptor);

  // What `descriptor` of the constructor below leads to; memory: it has none.
  enum class Source : std::uint8_t { memory, mapped_file, read_file, snapshot };
  // Takes over the mapping of all bytes, null for a file to be read. Those of a snapshot have been
  // counted. `sample` is that of a file.
  Content(const FileVersion& version, const char* mapping, base::Fd descriptor, Source source,
          std::optional<ContentSample> sample = std::nullopt) noexcept;
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  ~Content();

  [[nodiscard]] const FileVersion& version() const noexcept { return version_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return version_.size; }
  // Null if may_wait().
  [[nodiscard]] const char* bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool mapped() const noexcept { return source_ == Source::mapped_file; }
  // Returns true if unchanged(), check() and copy() may wait as long as a read does.
  [[nodiscard]] bool may_wait() const noexcept { return source_ == Source::read_file; }
  // Returns true if the bytes are the file's own and change with it.
  [[nodiscard]] bool changes_with_file() const noexcept { return mapped() || may_wait(); }
  [[nodiscard]] bool is_snapshot() const noexcept { return source_ == Source::snapshot; }
  // Returns true for all that is not held in memory.
  [[nodiscard]] bool has_descriptor() const noexcept { return descriptor_.valid(); }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
  // Returns true if a lookup of the file would find this version. Always true for bytes in memory
  // and snapshots.
  [[nodiscard]] bool unchanged() const noexcept;
  // Succeeds if the bytes of this version are still the file's first ones: it has only grown, or
  // got other names or rights. Whether a file that is longer, or was touched, has been rewritten is
  // told by its size, its time and both ends of the bytes, so that the middle of one that also grew
  // may be another. Always succeeds for bytes in memory and snapshots.
  [[nodiscard]] Result<void> check(bool last) const;
  // Copies bytes of this version from `offset` on, then checks it. Fails if the file has others now
  // or can't be read. May wait for the disk. No access to the mapping, so the file may shrink
  // meanwhile.
  [[nodiscard]] Result<void> copy(std::span<char> room, std::uint64_t offset, bool last) const;

 private:
  [[nodiscard]] bool is_as_sampled() const;

  const FileVersion version_;
  const std::unique_ptr<char[]> held_;
  const char* bytes_;
  const base::Fd descriptor_;
  const Source source_ = Source::memory;
  const std::optional<ContentSample> sample_;
};

}  // namespace h2server::file
