#include "file/parts_source.h"

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "base/assert.h"
#include "file/calls.h"
#include "file/content.h"

namespace h2server::file {

namespace {

std::uint64_t size_of(const File& file, const std::vector<PartsSource::Part>& parts) {
  std::uint64_t size = 0;
  for (const PartsSource::Part& part : parts) {
    ASSERT(!part.text.empty());
    ASSERT(part.first <= file.size() && part.count <= file.size() - part.first);
    size += part.text.size() + part.count;
  }
  return size;
}

std::size_t copy(std::string_view bytes, std::span<char> room) noexcept {
  const std::size_t count = std::min(bytes.size(), room.size());
  std::ranges::copy(bytes.substr(0, count), room.begin());
  return count;
}

// Returns the number of bytes read, at least 1, or a negative errno value; 0 at the file's end.
Task<int> read_at(const Content& content, std::span<char> room, std::uint64_t offset) {
  if (!content.mapped()) {
    co_return static_cast<int>(copy({content.bytes() + offset, room.size()}, room));
  }
  const io::FileCall call = io::FileCall::read(content.descriptor(), room, offset);
  int count = -EINTR;
  while (count == -EINTR) count = co_await make_call(io::Engine::current(), call);
  co_return count;
}

std::unexpected<Error> changed() {
  return std::unexpected(Error{0, "file changed while it was sent"});
}

}  // namespace

PartsSource::PartsSource(FileRef file, std::vector<Part> parts)
    : file_(std::move(file)),
      parts_(std::move(parts)),
      size_(size_of(*file_, parts_)),
      piece_bytes_(static_cast<std::size_t>(std::min<std::uint64_t>(size_, piece_bytes_max))),
      piece_(std::make_unique_for_overwrite<char[]>(piece_bytes_)) {}

Task<Result<std::string_view>> PartsSource::read() {
  const std::span<char> piece(piece_.get(), piece_bytes_);
  std::size_t filled = 0;
  while (filled < piece.size() && next_ < parts_.size()) {
    const Part& part = parts_[next_];
    const std::uint64_t part_bytes = part.text.size() + part.count;
    std::span<char> room = piece.subspan(filled);
    std::size_t count = 0;
    if (done_ < part.text.size()) {
      count = copy(std::string_view(part.text).substr(static_cast<std::size_t>(done_)), room);
    } else {
      if (part_bytes - done_ < room.size()) {
        room = room.first(static_cast<std::size_t>(part_bytes - done_));
      }
      const std::uint64_t offset = part.first + (done_ - part.text.size());
      const int got = co_await read_at(file_->content(), room, offset);
      if (got == 0) co_return changed();  // truncated
      if (got < 0) co_return std::unexpected(Error{-got, "file"});
      count = static_cast<std::size_t>(got);
    }
    filled += count;
    done_ += count;
    if (done_ == part_bytes) {
      ++next_;
      done_ = 0;
    }
  }
  // Covers everything in the piece, also a last one of text only.
  if (filled > 0 && !file_->content().unchanged()) co_return changed();
  co_return std::string_view(piece.data(), filled);
}

}  // namespace h2server::file
