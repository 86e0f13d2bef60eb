#include "content/files/listings.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/fd.h"
#include "base/keyed_hash.h"
#include "base/memory/memory_budget.h"
#include "file/calls.h"
#include "io/engine.h"

namespace h2server::content {

namespace {

// "a//b/" names the same folder as "a/b/", and must not be kept beside it.
void drop_empty_segments(std::string& path) {
  const auto both = [](char a, char b) { return a == '/' && b == '/'; };
  path.erase(std::ranges::unique(path, both).begin(), path.end());
  if (path.starts_with('/')) path.erase(0, 1);
}

}  // namespace

// One request's turn to read a folder. Its end lets those that wait look again.
class Listings::Reading {
 public:
  Reading(Listings& listings, std::string path) : listings_(listings), path_(std::move(path)) {}
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  ~Reading() {
    std::vector<Completer<bool>> waiting;
    {
      const std::lock_guard lock(listings_.mutex_);
      const auto kept = listings_.kept_.find(path_);
      kept->second.being_read = false;
      waiting = std::exchange(kept->second.waiting, {});
      if (kept->second.entries == nullptr) listings_.kept_.erase(kept);
    }
    for (const Completer<bool>& one : waiting) one(true);
  }

 private:
  Listings& listings_;
  const std::string path_;
};

Listings::Listings(std::shared_ptr<const file::Folder> root, const ReadFolderOptions& options,
                   const ListingsLimits& limits)
    : root_(std::move(root)), options_(options), limits_(limits) {}

FolderEntriesRef Listings::fresh(const Kept& kept, const file::FileVersion& version) const {
  if (kept.entries == nullptr || kept.version != version) return nullptr;
  const bool recent = base::monotonic_ms() - kept.read_ms < kept.fresh_ms;
  return recent && file::is_settled(kept.version) ? kept.entries : nullptr;
}

Task<Result<FolderEntriesRef, int>> Listings::find(std::string path) {
  const std::int64_t asked_ms = base::monotonic_ms();
  drop_empty_segments(path);
  for (;;) {
    Result<file::Folder::Opened, int> folder =
        co_await root_->open_beneath(path, O_RDONLY | O_DIRECTORY);
    if (!folder) co_return std::unexpected(folder.error());
    std::optional<Completion<bool>> read_by_another;
    {
      const std::lock_guard lock(mutex_);
      Kept& kept = kept_[path];
      kept.used_ms = base::monotonic_ms();
      if (FolderEntriesRef entries = fresh(kept, folder->version)) co_return entries;
      // Of a folder that changes all the time, what was read since the question is an answer.
      if (kept.entries != nullptr && kept.read_ms > asked_ms) co_return kept.entries;
      if (kept.being_read) {
        kept.waiting.push_back(read_by_another.emplace().completer());
      }
      kept.being_read = true;
    }
    if (!read_by_another) {
      const Reading reading(*this, path);
      Result<FolderEntriesRef, int> entries = co_await read(path, *folder);
      co_return entries;
    }
    folder->descriptor = base::Fd();  // descriptors are scarce
    const Result<bool> ended = co_await *read_by_another;
    if (!ended) co_return std::unexpected(ended.error().code);
  }
}

Task<Result<FolderEntriesRef, int>> Listings::read(const std::string& path,
                                                   const file::Folder::Opened& folder) {
  const std::int64_t began_ms = base::monotonic_ms();
  const auto work = [this, &path, &folder]() -> Result<FolderEntries, int> {
    // Others may have filled it while this one waited for a thread.
    if (base::MemoryBudget::of_process().tight()) return std::unexpected(ENOMEM);
    return read_folder(root_->fd(), path, folder.descriptor.get(), options_);
  };
  const file::WaitingOptions options =
      folder.slow ? file::on_slow_file_system(folder.version.device)
                  : file::WaitingOptions{.ends_with_task = true, .client = base::keyed_hash(path)};
  std::optional<Result<FolderEntries, int>> entries =
      co_await file::run_waiting(io::Engine::current(), work, options);
  if (!entries) co_return std::unexpected(ECANCELED);
  if (!*entries) co_return std::unexpected(entries->error());
  auto shared = std::make_shared<const FolderEntries>(**std::move(entries));
  shared->count(true);
  keep(path, folder.version, shared, began_ms);
  co_return shared;
}

void Listings::keep(const std::string& path, const file::FileVersion& version,
                    FolderEntriesRef entries, std::int64_t began_ms) {
  const std::int64_t took_ms = base::monotonic_ms() - began_ms;
  const std::lock_guard lock(mutex_);
  Kept& kept = kept_[path];
  drop(kept);
  bytes_ += entries->memory();
  entries->count(false);
  kept.entries = std::move(entries);
  kept.version = version;
  kept.read_ms = began_ms;
  kept.fresh_ms = std::clamp(100 * took_ms, limits_.fresh_ms_min, limits_.fresh_ms_max);
  kept.used_ms = base::monotonic_ms();
  make_room();
}

// Those who still send them hold them.
void Listings::drop(Kept& kept) {
  if (kept.entries == nullptr) return;
  bytes_ -= kept.entries->memory();
  if (kept.entries.use_count() > 1) kept.entries->count(true);
  kept.entries = nullptr;
}

void Listings::make_room() {
  const std::uint64_t most =
      base::MemoryBudget::of_process().at_most(limits_.bytes_max, ListingsLimits::parts);
  while (kept_.size() > 1 && (bytes_ > most || kept_.size() > limits_.folders_max)) {
    auto oldest = kept_.end();
    for (auto one = kept_.begin(); one != kept_.end(); ++one) {
      if (one->second.being_read || one->second.entries == nullptr) continue;
      if (oldest == kept_.end() || one->second.used_ms < oldest->second.used_ms) oldest = one;
    }
    if (oldest == kept_.end()) return;
    drop(oldest->second);
    kept_.erase(oldest);
  }
}

}  // namespace h2server::content
