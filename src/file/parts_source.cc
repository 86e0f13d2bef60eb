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
    ASSERT(!part.text.empty() || part.count > 0);
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

std::unexpected<Error> truncated() {
  return std::unexpected(Error{0, "the file was truncated while it was sent"});
}

}  // namespace

PartsSource::PartsSource(FileRef file, std::vector<Part> parts)
    : file_(std::move(file)),
      parts_(std::move(parts)),
      size_(size_of(*file_, parts_)),
      piece_bytes_(static_cast<std::size_t>(std::min<std::uint64_t>(
          size_, file_->content().may_wait() ? slow_piece_bytes_max : piece_bytes_max))) {}

PartsSource::Step PartsSource::next_step(std::span<char> room) {
  const Part& part = parts_[next_];
  if (done_ < part.text.size()) {
    const auto text = std::string_view(part.text).substr(static_cast<std::size_t>(done_));
    return {.count = copy(text, room)};
  }
  const std::uint64_t read = done_ - part.text.size();
  const auto count =
      static_cast<std::size_t>(std::min<std::uint64_t>(part.count - read, room.size()));
  return {.count = count, .offset = part.first + read};
}

void PartsSource::advance(std::size_t count) {
  const Part& part = parts_[next_];
  done_ += count;
  if (done_ < part.text.size() + part.count) return;
  ++next_;
  done_ = 0;
}

std::span<char> PartsSource::make_piece() {
  if (piece_ == nullptr) piece_ = std::make_unique_for_overwrite<char[]>(piece_bytes_);
  return {piece_.get(), piece_bytes_};
}

Task<Result<std::string_view>> PartsSource::read() {
  if (file_->content().may_wait()) {
    Result<std::string_view> piece = co_await read_on_thread();
    co_return piece;
  }
  const std::span<char> piece = make_piece();
  charge_.set(piece_bytes_);
  std::size_t filled = 0;
  while (filled < piece.size() && next_ < parts_.size()) {
    Step step = next_step(piece.subspan(filled));
    if (step.offset) {
      const std::span<char> room = piece.subspan(filled, step.count);
      const int got = co_await read_at(file_->content(), room, *step.offset);
      if (got == 0) co_return truncated();
      if (got < 0) co_return std::unexpected(Error{-got, "file"});
      step.count = static_cast<std::size_t>(got);
    }
    filled += step.count;
    advance(step.count);
  }
  // Covers everything in the piece, also a last one of text only.
  if (filled > 0) {
    const Result<void> checked = file_->content().check(next_ == parts_.size());
    if (!checked) co_return std::unexpected(checked.error());
  }
  co_return std::string_view(piece.data(), filled);
}

Task<Result<std::string_view>> PartsSource::read_on_thread() {
  if (next_ == parts_.size()) co_return std::string_view();
  const auto work = [this] {
    const Result<std::size_t> filled = fill();
    if (!filled || next_ == parts_.size()) opened_.close();
    return filled;
  };
  const WaitingOptions options = on_slow_file_system(file_->content().version().device);
  const std::optional<Result<std::size_t>> filled =
      co_await run_waiting(io::Engine::current(), work, options);
  if (piece_ != nullptr) charge_.set(piece_bytes_);
  if (!filled) co_return std::unexpected(Error{ECANCELED, "file"});
  if (!*filled) co_return std::unexpected(filled->error());
  co_return std::string_view(piece_.get(), **filled);
}

Result<std::size_t> PartsSource::fill() {
  const Content& content = file_->content();
  const int reopened = opened_.open_once(content.descriptor());
  const int opened = reopened >= 0 ? reopened : content.descriptor();
  const std::span<char> piece = make_piece();
  std::size_t filled = 0;
  while (filled < piece.size() && next_ < parts_.size()) {
    const Step step = next_step(piece.subspan(filled));
    const std::span<char> room = piece.subspan(filled, step.count);
    if (step.offset && !read_whole(opened, room, *step.offset)) return truncated();
    filled += step.count;
    advance(step.count);
  }
  // Covers also a last piece of text only.
  const Result<void> checked = content.check(next_ == parts_.size());
  if (!checked) return std::unexpected(checked.error());
  return filled;
}

}  // namespace h2server::file
