// The body of a response on its way out: pulled piece by piece from a string, a file or a source.
//
// A file's response is complete and of one version, or it is aborted: every piece is checked before
// it is appended, and the last one is copied and checked after all others have been sent. A mapped
// file is appended only as far as the owner of the OutgoingBody has warmed it, that is, brought it
// into the page cache, so that reading it does not block on the disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/buffer_chain.h"
#include "h2server/response.h"

namespace h2server::http {

class OutgoingBody {
 public:
  // `response` must outlive this. `copy_files`: this process reads the bytes, not the kernel, so a
  // mapping, which may shrink, must not be passed on. For a mapped file of `send_file_bytes_min` or
  // more (0: never) the chain names the file's descriptor; the sender then has to settle it; see
  // to_settle().
  void open(Response& response, bool copy_files, std::size_t inline_bytes_max,
            std::uint64_t send_file_bytes_min = 0);
  void clear() noexcept { *this = OutgoingBody(); }

  // Returns true if the whole body has been appended or taken.
  [[nodiscard]] bool finished() const noexcept { return finished_; }
  // Returns the whole body if it is in memory and has at most `bytes_max` bytes, else an empty
  // view. Call before append(). Call finish() after taking it.
  [[nodiscard]] std::string_view whole(std::size_t bytes_max) const noexcept {
    if (file_ == nullptr) {
      return source_ == nullptr && memory_.size() <= bytes_max ? memory_ : std::string_view();
    }
    if (file_->file->mapped || sent_ > 0 || file_->count > bytes_max) return {};
    return {file_->file->bytes + file_->first, static_cast<std::size_t>(file_->count)};
  }
  void finish() noexcept { finished_ = true; }
  // The body's source, or null. Pass its pieces to offer() when next_size() is 0.
  [[nodiscard]] BodySource* source() const noexcept { return source_; }
  // `piece` must stay valid until next_size() is 0 again. An empty piece ends the body. Fails if
  // the source yields more or less than its declared size.
  Result<void> offer(std::string_view piece);

  // The part of a mapped file to warm next.
  struct FileSpan {
    const File* file;
    std::uint64_t first;
    std::size_t count;
  };
  // Returns nullopt if the body does not wait for warmed().
  [[nodiscard]] std::optional<FileSpan> cold() const noexcept;
  void warmed(const FileSpan& part) noexcept { warm_until_ = part.first + part.count; }
  // Returns true if the body may have to wait for offer() or warmed().
  [[nodiscard]] bool is_pulled() const noexcept {
    return source_ != nullptr || (file_ != nullptr && file_->file->mapped);
  }

  // The number of bytes appended.
  [[nodiscard]] std::uint64_t appended() const noexcept { return appended_; }

  // Returns how many bytes append() can take next, at most `bytes_max`. Returns 0 if the body waits
  // for offer() or warmed(), or is finished.
  [[nodiscard]] std::size_t next_size(std::size_t bytes_max) const noexcept;
  // Returns true if the next `size` bytes end the body. Always false for a source, whose end is
  // only known from offer().
  [[nodiscard]] bool ends_after(std::size_t size) const noexcept {
    if (file_ != nullptr) return sent_ + size == file_->count;
    return source_ == nullptr && size == memory_.size();
  }
  // Returns true if the next `size` bytes must wait until `out` has been sent and settled: they end
  // a mapped file, and the kernel has not yet copied its earlier bytes.
  [[nodiscard]] bool must_wait(const base::BufferChain& out, std::size_t size) const noexcept {
    return file_ != nullptr && file_->file->mapped && ends_after(size) &&
           (out.has_shared() || !settled_);
  }
  // Call when everything appended has been sent. Returns how many of those bytes may still be
  // unacknowledged when the end is appended, or nullopt if there is no need to wait for that now.
  // Data that the kernel sends from a file's pages changes with the file until it is acknowledged.
  [[nodiscard]] std::optional<std::size_t> to_settle() const noexcept;
  void settled() noexcept { settled_ = true; }
  // Appends `prefix` and then the next `size` bytes, at most next_size(). On an error nothing was
  // appended, and the body can't be completed.
  Result<void> append(base::BufferChain& out, std::string_view prefix, std::size_t size);

 private:
  Result<void> append_file(base::BufferChain& out, std::string_view prefix, std::size_t size);

  std::string_view memory_;  // rest of the string or of the offered piece
  const Response::FilePart* file_ = nullptr;
  BodySource* source_ = nullptr;
  std::uint64_t sent_ = 0;  // of file_
  std::uint64_t appended_ = 0;
  std::uint64_t warm_until_ = 0;           // offset in the file
  std::uint64_t by_file_until_ = 0;        // of file_: sent from its descriptor up to here
  std::optional<std::uint64_t> promised_;  // bytes that the source still has to yield
  std::size_t inline_bytes_max_ = 0;
  bool copy_files_ = false;
  bool settled_ = true;
  bool finished_ = true;
};

}  // namespace h2server::http
