// DiskObject: an object of a store whose bytes lie in a file of a DiskCache.
//
// A file has the bytes of one version of an object and nothing else. Its head lies beside it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "content/storage/file_digest.h"
#include "file/content.h"
#include "h2server/file.h"
#include "h2server/store.h"

namespace h2server::content {

// The unit in which a file is checked: that many bytes, but for the last one.
inline constexpr std::uint64_t disk_block_bytes = 1024 * 1024;
constexpr std::size_t disk_blocks(std::uint64_t bytes) noexcept {
  return static_cast<std::size_t>(bytes / disk_block_bytes + (bytes % disk_block_bytes != 0));
}

struct DiskHead {
  ObjectInfo info = {};
  std::vector<Sha256::Value> digests = {};  // of the blocks
};
// Lines of names and values, the last one with the SHA-256 of those before it. The values of
// `info` must be those of fields.
std::string to_text(const DiskHead& head);
// Reads what to_text() writes. Returns nullopt for anything else.
std::optional<DiskHead> parse_disk_head(std::string_view text);

// Which blocks of a version of a file this process has compared with their digests. Any thread.
class DiskChecks {
 public:
  // `blocks`: those to compare. 0: this process has written the file.
  DiskChecks(const file::FileVersion& version, std::size_t blocks)
      : version_(version), seen_(blocks), left_(blocks) {}

  [[nodiscard]] const file::FileVersion& version() const noexcept { return version_; }
  [[nodiscard]] bool done() const noexcept { return left_.load(std::memory_order_acquire) == 0; }
  void note(std::size_t block) {
    const std::lock_guard lock(mutex_);
    if (seen_[block]) return;
    seen_[block] = true;
    left_.fetch_sub(1, std::memory_order_release);
  }

 private:
  const file::FileVersion version_;
  std::mutex mutex_;
  std::vector<bool> seen_;  // under the mutex
  std::atomic<std::size_t> left_;
};

class DiskObject final : public FileExtension {
 public:
  // Returns null if `file`, which an ObjectCache has made, is of an object in memory.
  [[nodiscard]] static const DiskObject* of(const File& file) noexcept {
    const bool on_disk = file.content().has_descriptor();
    return on_disk ? static_cast<const DiskObject*>(file.extension()) : nullptr;
  }

  DiskObject(DiskHead head, std::shared_ptr<DiskChecks> checks) noexcept
      : head_(std::move(head)), checks_(std::move(checks)) {}

  [[nodiscard]] const ObjectInfo& info() const noexcept { return head_.info; }
  // Returns true if all bytes of the file have been compared with their digests.
  [[nodiscard]] bool checked() const noexcept { return checks_->done(); }
  // Returns true if these bytes are those of the block, and remembers it.
  [[nodiscard]] bool check(std::size_t block, std::string_view bytes) const;

 private:
  const DiskHead head_;
  const std::shared_ptr<DiskChecks> checks_;
};

}  // namespace h2server::content
