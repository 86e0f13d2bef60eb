// PartSender: appends a part of a file to a connection's output, piece by piece.
//
// The part is complete and of one version, or it is aborted: every piece is checked before it is
// appended, and the last one is copied and checked after all others have been sent. A mapped file
// is appended only as far as it is known to be resident, that is, in the page cache, so that
// reading it does not block on the disk. Bytes in memory and snapshots need none of that. A file on
// a slow file system is sent by a PartsSource instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/memory/buffer_chain.h"
#include "file/content.h"
#include "h2server/file.h"
#include "h2server/result.h"
#include "io/file_call.h"

namespace h2server::file {

class PartSender {
 public:
  struct Options {
    // This process reads the bytes, not the kernel, so a mapping, which may shrink, must not be
    // passed on.
    bool copy = false;
    // Resident bytes up to this size are copied into the output.
    std::size_t inline_bytes_max = 0;
    // The output may name descriptors, which the kernel sends from: for parts of snapshots if that
    // costs less, and for parts of mapped files of this size or more (0: never). The sender then
    // has to settle the latter, see to_settle().
    bool by_descriptor = false;
    std::uint64_t send_file_bytes_min = 0;
  };
  struct Span {
    std::uint64_t first;  // offset in the file
    std::size_t count;
  };

  PartSender() = default;
  // Bytes [first, first + count) of `file`, which must outlive this.
  PartSender(const FileRef& file, std::uint64_t first, std::uint64_t count, const Options& options);

  [[nodiscard]] bool finished() const noexcept { return sent_ == count_; }
  [[nodiscard]] bool mapped() const noexcept { return content_ != nullptr && content_->mapped(); }
  // Returns true if the next bytes will be named by their descriptor, so they take no memory.
  [[nodiscard]] bool names_descriptor() const noexcept { return sent_ < by_file_until_; }
  // Returns all bytes if none has been appended, they are at most `bytes_max` and the file is held
  // in memory; else an empty view.
  [[nodiscard]] std::string_view whole(std::size_t bytes_max) const noexcept {
    if (mapped() || sent_ > 0 || count_ > bytes_max) return {};
    return {content_->bytes() + first_, static_cast<std::size_t>(count_)};
  }

  // Returns the bytes that have to be made resident next; nullopt if there is no need for that now.
  [[nodiscard]] std::optional<Span> not_resident() const noexcept;
  // Marks them as resident if they are in the page cache. Returns false if they are not, or if
  // nothing has to be made resident now.
  bool make_resident_at_once() noexcept;
  // Returns the call that makes them resident.
  [[nodiscard]] io::FileCall populate(const Span& span) const noexcept;
  void made_resident(const Span& span) noexcept { resident_until_ = span.first + span.count; }

  // Returns how many bytes append() can take next, at most `bytes_max`; 0 if it waits for
  // made_resident(), or is finished.
  [[nodiscard]] std::size_t next_size(std::size_t bytes_max) const noexcept;
  // Returns true if the next `size` bytes end the part.
  [[nodiscard]] bool ends_after(std::size_t size) const noexcept { return sent_ + size == count_; }
  // As Content::check(), also of what was appended before.
  [[nodiscard]] Result<void> check() const { return content_->check(true); }
  // Returns true if the next `size` bytes must wait until `out` has been sent and settled: they end
  // a mapped file, and the kernel has not yet copied its earlier bytes.
  [[nodiscard]] bool must_wait(const base::BufferChain& out, std::size_t size) const noexcept {
    return mapped() && ends_after(size) && (out.has_shared() || !settled_);
  }
  // Appends `prefix` and then the next `size` bytes, at most next_size(). On an error nothing was
  // appended, and the part can't be completed.
  Result<void> append(base::BufferChain& out, std::string_view prefix, std::size_t size);

  // Call when everything appended has been sent. Returns how many of those bytes may still be
  // unacknowledged when the end is appended, or nullopt if there is no need to wait for that now.
  // Data that the kernel sends from a file's pages changes with the file until it is acknowledged.
  [[nodiscard]] std::optional<std::size_t> to_settle() const noexcept;
  void settled() noexcept { settled_ = true; }

 private:
  const FileRef* file_ = nullptr;
  const Content* content_ = nullptr;  // of the file
  std::uint64_t first_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t resident_until_ = 0;  // offset in the file
  std::uint64_t by_file_until_ = 0;   // of the part: sent from its descriptor up to here
  std::size_t inline_bytes_max_ = 0;
  bool copy_ = false;
  bool settled_ = true;
};

}  // namespace h2server::file
