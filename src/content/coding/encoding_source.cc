#include "content/coding/encoding_source.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <span>
#include <utility>

#include "base/memory/memory_budget.h"
#include "file/calls.h"
#include "file/content.h"
#include "io/engine.h"

namespace h2server::content {

namespace {

// Encoding that much takes at most about a millisecond. It bounds how long a thread of the pool is
// used at once, and the output that is held.
constexpr std::size_t step_bytes_max = 64 * 1024;
// What the worker encodes itself, in a third of a millisecond; a thread costs some 20 us.
constexpr std::size_t at_once_bytes_max = 16 * 1024;

constexpr unsigned sources_max = 128;
std::atomic<unsigned> sources{0};

constexpr std::size_t encoder_bytes = 1200 * 1024;  // of the largest, brotli's

class Counted {
 public:
  Counted() noexcept {
    sources.fetch_add(1, std::memory_order_relaxed);
    charge_.set(encoder_bytes);
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { sources.fetch_sub(1, std::memory_order_relaxed); }

  [[nodiscard]] std::size_t bytes() const noexcept { return charge_.bytes(); }

 private:
  base::MemoryCharge charge_{base::MemoryOwner::coding};
};

class EncodingSource final : public BodySource {
 public:
  EncodingSource(std::unique_ptr<BodySource> source, Coding coding,
                 std::optional<std::uint64_t> size)
      : source_(std::move(source)), encoder_(make_encoder(coding, size)), flushes_(!size) {}

  Task<Result<std::string_view>> read() override {
    out_.clear();
    while (out_.empty() && !ended_) {
      if (rest_.empty()) {
        reading_ = true;
        const Result<std::string_view> piece = co_await source_->read();
        reading_ = false;
        if (!piece) co_return std::unexpected(piece.error());
        rest_ = *piece;
        ended_ = rest_.empty();
      }
      const Result<void> encoded = co_await encode_step();
      if (!encoded) co_return std::unexpected(encoded.error());
    }
    co_return std::string_view(out_);
  }

  void interrupt() noexcept override {
    if (reading_) source_->interrupt();
  }

  [[nodiscard]] std::span<const Field> trailers() const noexcept override {
    return source_->trailers();
  }

  [[nodiscard]] bool reads_request() const noexcept override { return source_->reads_request(); }
  [[nodiscard]] std::size_t bytes_held() const noexcept override {
    return counted_.bytes() + source_->bytes_held();
  }

 private:
  Task<Result<void>> encode_step() {
    const std::string_view step = rest_.substr(0, step_bytes_max);
    rest_.remove_prefix(step.size());
    const bool flush = flushes_ && rest_.empty();
    const Encoder::Until until = ended_  ? Encoder::Until::end
                                 : flush ? Encoder::Until::flush
                                         : Encoder::Until::later;
    if (step.size() <= at_once_bytes_max) {
      encoder_->encode(step, until, out_);
      co_return {};
    }
    const auto work = [this, step, until] {
      encoder_->encode(step, until, out_);
      return true;
    };
    const std::optional<bool> done =
        co_await file::run_waiting(io::Engine::current(), work, file::unless_stopped);
    if (!done) co_return std::unexpected(Error{ECANCELED, "content coding"});
    co_return {};
  }

  const Counted counted_;
  const std::unique_ptr<BodySource> source_;
  const std::unique_ptr<Encoder> encoder_;
  const bool flushes_;     // at the end of each piece
  bool reading_ = false;   // the source's read() waits
  bool ended_ = false;     // the source has
  std::string_view rest_;  // of the source's piece
  std::string out_;        // what the last read() returned
};

class TextSource final : public BodySource {
 public:
  explicit TextSource(std::string text) noexcept : text_(std::move(text)) {
    charge_.set(text_.size());
  }

  Task<Result<std::string_view>> read() override {
    co_return std::exchange(ended_, true) ? std::string_view() : std::string_view(text_);
  }
  [[nodiscard]] bool reads_request() const noexcept override { return false; }
  [[nodiscard]] std::size_t bytes_held() const noexcept override { return charge_.bytes(); }

 private:
  const std::string text_;
  base::MemoryCharge charge_{base::MemoryOwner::bodies};
  bool ended_ = false;
};

class FileSource final : public BodySource {
 public:
  explicit FileSource(FileRef file) noexcept : file_(std::move(file)) {}

  Task<Result<std::string_view>> read() override {
    const std::uint64_t left = file_->size() - offset_;
    piece_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(left, step_bytes_max)));
    if (piece_.empty()) co_return std::string_view();
    const file::Content& content = file_->content();
    const bool last = piece_.size() == left;
    const auto work = [this, last] { return file_->content().copy(piece_, offset_, last); };
    const file::WaitingOptions options = content.may_wait()
                                             ? file::on_slow_file_system(content.version().device)
                                             : file::unless_stopped;
    const std::optional<Result<void>> done =
        co_await file::run_waiting(io::Engine::current(), work, options);
    if (!done) co_return std::unexpected(Error{ECANCELED, "file"});
    if (!*done) co_return std::unexpected(done->error());
    offset_ += piece_.size();
    co_return std::string_view(piece_);
  }
  [[nodiscard]] bool reads_request() const noexcept override { return false; }

 private:
  const FileRef file_;
  std::uint64_t offset_ = 0;
  std::string piece_;
};

}  // namespace

bool has_room_to_encode() noexcept {
  const base::MemoryBudget& budget = base::MemoryBudget::of_process();
  const bool few = budget.held(base::MemoryOwner::coding) < budget.limit() / 4;
  return sources.load(std::memory_order_relaxed) < sources_max && few && !budget.tight();
}

std::unique_ptr<BodySource> encode_source(std::unique_ptr<BodySource> source, Coding coding,
                                          std::optional<std::uint64_t> size) {
  return std::make_unique<EncodingSource>(std::move(source), coding, size);
}

std::unique_ptr<BodySource> encode_text(std::string text, Coding coding) {
  const std::uint64_t size = text.size();
  return encode_source(std::make_unique<TextSource>(std::move(text)), coding, size);
}

std::unique_ptr<BodySource> encode_file(FileRef file, Coding coding) {
  const std::uint64_t size = file->size();
  return encode_source(std::make_unique<FileSource>(std::move(file)), coding, size);
}

}  // namespace h2server::content
