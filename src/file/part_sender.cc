#include "file/part_sender.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "base/assert.h"

namespace h2server::file {

namespace {

constexpr std::size_t last_piece_bytes = 16 * 1024;
// The last bytes of a file that is sent from its descriptor are copied instead: as many as a
// connection's send buffer holds (Linux's tcp_wmem). When the buffer has accepted them all, the
// uncopied bytes have been acknowledged, so that settling does not wait.
constexpr std::uint64_t settling_bytes = 4 * 1024 * 1024;
// Measured on loopback: at 70 kB sendfile() costs as much as a copy, above that less.
constexpr std::uint64_t snapshot_by_descriptor_min = 64 * 1024;
constexpr std::size_t prefix_bytes_max = 16;
// One query of the page cache per span, which looks at each of its pages. The first span is as long
// as one write, since its client may read nothing.
constexpr std::uint64_t first_resident_bytes = 256 * 1024;
constexpr std::uint64_t resident_bytes = 1024 * 1024;

}  // namespace

PartSender::PartSender(const FileRef& file, std::uint64_t first, std::uint64_t count,
                       const Options& options)
    : file_(&file),
      content_(&file->content()),
      first_(first),
      count_(count),
      inline_bytes_max_(options.inline_bytes_max),
      copy_(options.copy) {
  ASSERT(!content_->may_wait());
  if (copy_ || !options.by_descriptor) return;
  if (content_->is_snapshot() && count >= snapshot_by_descriptor_min) by_file_until_ = count;
  if (mapped() && options.send_file_bytes_min > 0 &&
      count >= std::max(options.send_file_bytes_min, 2 * settling_bytes)) {
    by_file_until_ = count - settling_bytes;
    settled_ = false;
  }
}

std::optional<PartSender::Span> PartSender::not_resident() const noexcept {
  const std::uint64_t next = first_ + sent_;
  if (!mapped() || finished() || next < resident_until_) return std::nullopt;
  const std::uint64_t count =
      std::min(count_ - sent_, sent_ == 0 ? first_resident_bytes : resident_bytes);
  return Span{next, static_cast<std::size_t>(count)};
}

bool PartSender::make_resident_at_once() noexcept {
  const std::optional<Span> span = not_resident();
  if (!span || populate(*span).make(false) < 0) return false;
  made_resident(*span);
  return true;
}

io::FileCall PartSender::populate(const Span& span) const noexcept {
  return io::FileCall::populate(content_->descriptor(), content_->bytes(), span.first, span.count);
}

std::size_t PartSender::next_size(std::size_t bytes_max) const noexcept {
  const auto left =
      static_cast<std::size_t>(std::min<std::uint64_t>(count_ - sent_, std::uint64_t{1} << 30));
  if (!mapped()) return std::min(left, bytes_max);
  const std::uint64_t next = first_ + sent_;
  if (next >= resident_until_) return 0;
  bytes_max = std::min(bytes_max, static_cast<std::size_t>(resident_until_ - next));
  if (sent_ < by_file_until_) {
    bytes_max = std::min(bytes_max, static_cast<std::size_t>(by_file_until_ - sent_));
  }
  if (copy_ || left <= last_piece_bytes) {
    return std::min({left, bytes_max, base::BufferChain::block_bytes - prefix_bytes_max});
  }
  return std::min(bytes_max, left - last_piece_bytes);
}

std::optional<std::size_t> PartSender::to_settle() const noexcept {
  if (settled_ || count_ - sent_ > last_piece_bytes) return std::nullopt;
  return static_cast<std::size_t>(sent_ - by_file_until_);
}

Result<void> PartSender::append(base::BufferChain& out, std::string_view prefix, std::size_t size) {
  const std::uint64_t offset = first_ + sent_;
  const std::string_view bytes(content_->bytes() + offset, size);
  if (!mapped()) {
    out.append(prefix);
    if (names_descriptor()) {
      out.append_mapped(bytes, content_->descriptor(), offset, *file_);
    } else if (size <= inline_bytes_max_) {
      out.append(bytes);
    } else {
      out.append_shared(bytes, *file_);
    }
  } else if (copy_ || ends_after(size)) {
    ASSERT(prefix.size() <= prefix_bytes_max);
    const std::span<char> room = out.reserve(prefix.size() + size);
    std::ranges::copy(prefix, room.begin());
    if (Result<void> read = content_->copy(room.subspan(prefix.size()), offset, ends_after(size));
        !read)
      return read;
    out.commit(room.size());
  } else {
    if (Result<void> checked = content_->check(false); !checked) return checked;
    out.append(prefix);
    if (names_descriptor()) {
      out.append_mapped(bytes, content_->descriptor(), offset, *file_);
    } else {
      out.append_shared(bytes, *file_);
    }
  }
  sent_ += size;
  return {};
}

}  // namespace h2server::file
