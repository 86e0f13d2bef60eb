#include "http/outgoing_body.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/assert.h"

namespace h2server::http {

namespace {

constexpr std::size_t last_piece_bytes = 16 * 1024;
// The last bytes of a file that is sent from its descriptor are copied instead: as many as a
// connection's send buffer holds (Linux's tcp_wmem). When the buffer has accepted them all, the
// uncopied bytes have been acknowledged, so that settling does not wait.
constexpr std::uint64_t settling_bytes = 4 * 1024 * 1024;
constexpr std::size_t prefix_bytes_max = 16;
constexpr std::uint64_t warm_bytes = 1024 * 1024;  // per FileSpan: one query of the page cache each

// Returns false if the file has fewer bytes there or reading fails.
bool read_whole(int descriptor, std::span<char> room, std::uint64_t offset) {
  while (!room.empty()) {
    const ssize_t count = ::pread(descriptor, room.data(), room.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;  // truncated, or EIO
    room = room.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return true;
}

}  // namespace

void OutgoingBody::open(Response& response, bool copy_files, std::size_t inline_bytes_max,
                        std::uint64_t send_file_bytes_min) {
  clear();
  copy_files_ = copy_files;
  inline_bytes_max_ = inline_bytes_max;
  Response::Body& body = response.body();
  if (const auto* const text = std::get_if<std::string>(&body)) {
    memory_ = *text;
    finished_ = memory_.empty();
  } else if (const auto* const part = std::get_if<Response::FilePart>(&body)) {
    file_ = part;
    finished_ = part->count == 0;
    const bool by_file = part->file->mapped && !copy_files && send_file_bytes_min > 0 &&
                         part->count >= std::max(send_file_bytes_min, 2 * settling_bytes);
    if (by_file) by_file_until_ = part->count - settling_bytes;
    settled_ = !by_file;
  } else if (auto* const streamed = std::get_if<Response::Streamed>(&body)) {
    source_ = streamed->source.get();
    promised_ = streamed->size;
    finished_ = false;
  }
}

Result<void> OutgoingBody::offer(std::string_view piece) {
  ASSERT(source_ != nullptr && memory_.empty() && !finished_);
  if (piece.empty()) {
    if (promised_.value_or(0) != 0) return std::unexpected(Error{0, "body shorter than declared"});
    finished_ = true;
    return {};
  }
  if (promised_) {
    if (piece.size() > *promised_) return std::unexpected(Error{0, "body longer than declared"});
    *promised_ -= piece.size();
  }
  memory_ = piece;
  return {};
}

std::optional<OutgoingBody::FileSpan> OutgoingBody::cold() const noexcept {
  if (finished_ || file_ == nullptr || !file_->file->mapped) return std::nullopt;
  const std::uint64_t next = file_->first + sent_;
  if (next < warm_until_) return std::nullopt;
  const std::uint64_t count = std::min(file_->count - sent_, warm_bytes);
  return FileSpan{file_->file.get(), next, static_cast<std::size_t>(count)};
}

std::size_t OutgoingBody::next_size(std::size_t bytes_max) const noexcept {
  if (finished_) return 0;
  if (file_ == nullptr) return std::min(memory_.size(), bytes_max);
  const auto left = static_cast<std::size_t>(
      std::min<std::uint64_t>(file_->count - sent_, std::uint64_t{1} << 30));
  if (!file_->file->mapped) return std::min(left, bytes_max);
  const std::uint64_t next = file_->first + sent_;
  if (next >= warm_until_) return 0;
  bytes_max = std::min(bytes_max, static_cast<std::size_t>(warm_until_ - next));
  if (sent_ < by_file_until_) {
    bytes_max = std::min(bytes_max, static_cast<std::size_t>(by_file_until_ - sent_));
  }
  if (copy_files_ || left <= last_piece_bytes) {
    return std::min({left, bytes_max, base::BufferChain::block_bytes - prefix_bytes_max});
  }
  return std::min(bytes_max, left - last_piece_bytes);
}

std::optional<std::size_t> OutgoingBody::to_settle() const noexcept {
  if (settled_ || file_->count - sent_ > last_piece_bytes) return std::nullopt;
  return static_cast<std::size_t>(sent_ - by_file_until_);
}

Result<void> OutgoingBody::append(base::BufferChain& out, std::string_view prefix,
                                  std::size_t size) {
  appended_ += size;
  if (file_ != nullptr) return append_file(out, prefix, size);
  out.append(prefix);
  out.append(memory_.substr(0, size));
  memory_.remove_prefix(size);
  if (source_ == nullptr) finished_ = memory_.empty();
  return {};
}

Result<void> OutgoingBody::append_file(base::BufferChain& out, std::string_view prefix,
                                       std::size_t size) {
  const File& file = *file_->file;
  const std::uint64_t offset = file_->first + sent_;
  const std::string_view bytes(file.bytes + offset, size);
  const bool last = sent_ + size == file_->count;
  if (!file.mapped) {
    out.append(prefix);
    if (size <= inline_bytes_max_) {
      out.append(bytes);
    } else {
      out.append_shared(bytes, file_->file);
    }
  } else if (copy_files_ || last) {
    ASSERT(prefix.size() <= prefix_bytes_max);
    const std::span<char> room = out.reserve(prefix.size() + size);
    std::ranges::copy(prefix, room.begin());
    if (!read_whole(file.descriptor, room.subspan(prefix.size()), offset) || !file.unchanged()) {
      return std::unexpected(Error{0, "file changed while it was sent"});
    }
    out.commit(room.size());
  } else {
    if (!file.unchanged()) return std::unexpected(Error{0, "file changed while it was sent"});
    out.append(prefix);
    if (sent_ < by_file_until_) {
      out.append_mapped(bytes, file.descriptor, offset, file_->file);
    } else {
      out.append_shared(bytes, file_->file);
    }
  }
  sent_ += size;
  finished_ = last;
  return {};
}

}  // namespace h2server::http
