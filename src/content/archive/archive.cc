#include "content/archive/archive.h"

#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "base/memory/memory_budget.h"
#include "content/archive/archive_walk.h"
#include "file/calls.h"

namespace h2server::content {

namespace {

class ArchiveSource final : public BodySource {
 public:
  ArchiveSource(std::shared_ptr<const file::Folder> folder, std::string path, std::string name,
                ArchiveFormat format, ArchiveOptions options)
      : options_(folder->may_wait() ? file::on_slow_file_system(folder->device())
                                    : file::unless_stopped),
        walk_(std::move(folder), std::move(path), std::move(name), format, options) {}

  Task<Result<std::string_view>> read() override {
    piece_.clear();
    // A step that found nothing to archive lets other work have the thread.
    while (piece_.empty() && !walk_.ended()) {
      if (interrupted_) co_return std::unexpected(Error{ECANCELED, "archive"});
      auto work = [this] { return walk_.step(piece_); };
      const std::optional<Result<void>> done =
          co_await file::run_waiting(io::Engine::current(), work, options_);
      if (!done) co_return std::unexpected(Error{ECANCELED, "archive"});
      if (!*done) co_return std::unexpected(done->error());
      charge_.set(piece_.capacity() + walk_.bytes_held());
    }
    co_return std::string_view(piece_);
  }

  void interrupt() noexcept override { interrupted_ = true; }
  [[nodiscard]] bool reads_request() const noexcept override { return false; }
  [[nodiscard]] std::size_t bytes_held() const noexcept override { return charge_.bytes(); }

 private:
  const file::WaitingOptions options_;
  ArchiveWalk walk_;          // used by one thread at a time: read() waits for it
  std::string piece_;         // as walk_
  bool interrupted_ = false;  // used on the reader's thread only
  base::MemoryCharge charge_{base::MemoryOwner::archives};
};

}  // namespace

std::unique_ptr<BodySource> make_archive(std::shared_ptr<const file::Folder> folder,
                                         std::string path, std::string name, ArchiveFormat format,
                                         ArchiveOptions options) {
  return std::make_unique<ArchiveSource>(std::move(folder), std::move(path), std::move(name),
                                         format, options);
}

}  // namespace h2server::content
