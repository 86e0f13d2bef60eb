// The body of a response on its way out: pulled piece by piece, whatever it is made of.
//
// A file that changes while it is sent: every piece is checked before it leaves, and the last one
// is copied and checked when all others have left: so a response is whole and of one version, or it
// is aborted. A mapped file is sent as far as it was warmed: as its owner made sure that it is in
// the page cache, so that whoever reads it does not wait for the disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/buffer_chain.h"
#include "h2server/response.h"

namespace h2server::http {

class OutgoingBody {
 public:
  // `response` outlives this. `copy_files`: the bytes are read by this process, not by the kernel,
  // so a mapping that may shrink must not be handed on. Of a mapped file of `send_file_bytes_min`
  // or more (0: never) the chain says where it lies, and whoever sends it settles() that.
  void open(Response& response, bool copy_files, std::size_t inline_bytes_max,
            std::uint64_t send_file_bytes_min = 0);
  void clear() noexcept { *this = OutgoingBody(); }

  // All of it has been appended.
  [[nodiscard]] bool finished() const noexcept { return finished_; }
  // All of it where it lies in memory and is no larger; empty: not so, or it has begun. Then
  // finish() says that it has been taken.
  [[nodiscard]] std::string_view whole(std::size_t bytes_max) const noexcept {
    if (file_ == nullptr) {
      return source_ == nullptr && memory_.size() <= bytes_max ? memory_ : std::string_view();
    }
    if (file_->file->mapped || sent_ > 0 || file_->count > bytes_max) return {};
    return {file_->file->bytes + file_->first, static_cast<std::size_t>(file_->count)};
  }
  void finish() noexcept { finished_ = true; }
  // Where the body is produced while it is sent: offer() its pieces when next_size() is 0.
  [[nodiscard]] BodySource* source() const noexcept { return source_; }
  // `piece` stays valid until next_size() is 0 again; empty: the end. An error when the source
  // yields more or less than its declared size.
  Result<void> offer(std::string_view piece);

  // The part of a mapped file that is to be warmed next; none when that is not what it waits for.
  struct FileSpan {
    const File* file;
    std::uint64_t first;
    std::size_t count;
  };
  [[nodiscard]] std::optional<FileSpan> cold() const noexcept;
  void warmed(const FileSpan& part) noexcept { warm_until_ = part.first + part.count; }
  // Whether it waits for something now and then: it is produced, or a mapped file.
  [[nodiscard]] bool is_pulled() const noexcept {
    return source_ != nullptr || (file_ != nullptr && file_->file->mapped);
  }

  // How much of it has been appended.
  [[nodiscard]] std::uint64_t appended() const noexcept { return appended_; }

  // What append() can take next, at most `bytes_max`; 0 when it waits for offer() or for warmed(),
  // or is finished.
  [[nodiscard]] std::size_t next_size(std::size_t bytes_max) const noexcept;
  // Whether the body ends with those bytes; a source's end shows only when it is offered.
  [[nodiscard]] bool ends_after(std::size_t size) const noexcept {
    if (file_ != nullptr) return sent_ + size == file_->count;
    return source_ == nullptr && size == memory_.size();
  }
  // Whether those bytes must wait until `out` has been sent: they end a mapped file, whose earlier
  // bytes are still to be copied by the kernel.
  [[nodiscard]] bool must_wait(const base::BufferChain& out, std::size_t size) const noexcept {
    return file_ != nullptr && file_->file->mapped && ends_after(size) &&
           (out.has_shared() || !settled_);
  }
  // Once all that was appended has been sent: with how many bytes of it not yet acknowledged the
  // end may follow. Nullopt: that does not matter, or the end is still far. What the kernel has
  // from a file's pages changes with the file until the peer has it.
  [[nodiscard]] std::optional<std::size_t> to_settle() const noexcept;
  void settled() noexcept { settled_ = true; }
  // Appends `prefix` and then the next `size` bytes, next_size() of them. After an error nothing
  // was appended, and the body can't be completed.
  Result<void> append(base::BufferChain& out, std::string_view prefix, std::size_t size);

 private:
  Result<void> append_file(base::BufferChain& out, std::string_view prefix, std::size_t size);

  std::string_view memory_;  // what is left of a string, a held file's part, or the piece offered
  const Response::FilePart* file_ = nullptr;
  BodySource* source_ = nullptr;
  std::uint64_t sent_ = 0;  // of file_
  std::uint64_t appended_ = 0;
  std::uint64_t warm_until_ = 0;           // an offset in file_
  std::uint64_t by_file_until_ = 0;        // of file_: sent from its descriptor up to there
  std::optional<std::uint64_t> promised_;  // what the source still has to yield
  std::size_t inline_bytes_max_ = 0;
  bool copy_files_ = false;
  bool settled_ = true;
  bool finished_ = true;
};

}  // namespace h2server::http
