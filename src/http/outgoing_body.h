// The body of a response on its way out: pulled piece by piece from a string, a part of a file or a
// source.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/memory/buffer_chain.h"
#include "file/part_sender.h"
#include "h2server/body.h"
#include "h2server/response.h"

namespace h2server::http {

class OutgoingBody {
 public:
  OutgoingBody() = default;
  OutgoingBody(const OutgoingBody&) = delete;
  OutgoingBody& operator=(const OutgoingBody&) = delete;
  ~OutgoingBody() { clear(); }

  // `response` must outlive this. `options` are for a part of a file.
  void open(Response& response, const file::PartSender::Options& options);
  // Member by member: GCC 12 makes an object to assign on the stack and copies it from there in
  // other pieces than it wrote, which stalls. With that, clear() and open() took a tenth of the
  // time for a small file. `part_` counts only if `has_part_`.
  void clear() noexcept {
    memory_ = {};
    source_ = nullptr;
    appended_ = 0;
    promised_.reset();
    own_source_.reset();
    has_part_ = false;
    failed_ = false;
    finished_ = true;
    if (counted_ > 0) count(0);
  }

  // Counts the text as memory of bodies until clear(): the client has not taken all of it at once.
  void count_memory() noexcept {
    if (source_ == nullptr && !has_part_ && !finished_) count(memory_.size());
  }
  // Returns what of it lies in memory, in bytes.
  [[nodiscard]] std::size_t bytes_held() const noexcept {
    return counted_ + (source_ != nullptr ? source_->bytes_held() : 0);
  }

  // Returns true if the whole body has been appended or taken.
  [[nodiscard]] bool finished() const noexcept { return finished_; }
  // Returns the whole body if it is in memory and has at most `bytes_max` bytes, else an empty
  // view. Call before append(). Call finish() after taking it.
  [[nodiscard]] std::string_view whole(std::size_t bytes_max) const noexcept {
    if (has_part_) return part_.whole(bytes_max);
    return source_ == nullptr && memory_.size() <= bytes_max ? memory_ : std::string_view();
  }
  void finish() noexcept {
    appended_ += has_part_ ? part_.whole(no_limit).size() : memory_.size();
    finished_ = true;
  }
  // The body's source, or null: that of the response, or one that reads a file whose file system is
  // slow. Pass its pieces to offer() when next_size() is 0.
  [[nodiscard]] BodySource* source() const noexcept { return source_; }
  // `piece` must stay valid until next_size() is 0 again. An empty piece ends the body. Fails if
  // the source yields more or less than its declared size.
  Result<void> offer(std::string_view piece);

  // Returns the part of a file that waits to be made resident, or null if the body does not wait
  // for that.
  [[nodiscard]] file::PartSender* not_resident() noexcept {
    return has_part_ && !finished_ && part_.not_resident() ? &part_ : nullptr;
  }
  // Marks the next part of the file as resident if it is in the page cache. Returns false if it is
  // not, or if the body does not wait for that.
  bool make_resident_at_once() noexcept {
    return has_part_ && !finished_ && part_.make_resident_at_once();
  }
  // Returns true if the body may have to wait for offer() or for the page cache.
  [[nodiscard]] bool is_pulled() const noexcept {
    return source_ != nullptr || (has_part_ && part_.mapped());
  }

  // Returns true if append() will name the file that has the next bytes, which takes no memory.
  [[nodiscard]] bool names_descriptor() const noexcept {
    return has_part_ && part_.names_descriptor();
  }

  // Returns true if all bytes of the source's declared size were appended, and only its end has to
  // be offered.
  [[nodiscard]] bool lacks_only_its_end() const noexcept {
    return source_ != nullptr && !finished_ && promised_ == std::uint64_t{0} && memory_.empty();
  }

  // The number of bytes appended.
  [[nodiscard]] std::uint64_t appended() const noexcept { return appended_; }

  // Returns how many bytes append() can take next, at most `bytes_max`. Returns 0 if the body waits
  // for offer() or for the page cache, or is finished.
  [[nodiscard]] std::size_t next_size(std::size_t bytes_max) const noexcept;
  // Returns true if the next `size` bytes end the body. Always false for a source, whose end is
  // only known from offer().
  [[nodiscard]] bool ends_after(std::size_t size) const noexcept {
    if (has_part_) return part_.ends_after(size);
    return source_ == nullptr && size == memory_.size();
  }
  // Returns true if the next `size` bytes must wait until `out` has been sent; see PartSender.
  [[nodiscard]] bool must_wait(const base::BufferChain& out, std::size_t size) const noexcept {
    return has_part_ && part_.must_wait(out, size);
  }
  [[nodiscard]] std::optional<std::size_t> to_settle() const noexcept {
    return has_part_ ? part_.to_settle() : std::nullopt;
  }
  void settled() noexcept { part_.settled(); }
  // Appends `prefix` and then the next `size` bytes, at most next_size(). On an error nothing was
  // appended, and the body can't be completed.
  Result<void> append(base::BufferChain& out, std::string_view prefix, std::size_t size);
  // Fails if the body's file is no longer as it was; see file::Content.
  [[nodiscard]] Result<void> check() const { return has_part_ ? part_.check() : Result<void>(); }
  // Returns the error of append(), or null if there was none.
  [[nodiscard]] const Error* failure() const noexcept { return failed_ ? &failure_ : nullptr; }

 private:
  void count(std::size_t bytes) noexcept;

  static constexpr std::size_t no_limit = static_cast<std::size_t>(-1);

  std::string_view memory_;  // rest of the string or of the offered piece
  BodySource* source_ = nullptr;
  std::unique_ptr<BodySource> own_source_;  // of a file on a slow file system
  file::PartSender part_;
  std::size_t counted_ = 0;  // bytes of the text
  std::uint64_t appended_ = 0;
  std::optional<std::uint64_t> promised_;  // bytes that the source still has to yield
  Error failure_;                          // if failed_
  bool has_part_ = false;
  bool failed_ = false;
  bool finished_ = true;
};

}  // namespace h2server::http
