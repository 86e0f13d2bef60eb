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

Listings::Listings(std::shared_ptr<const file::Folder> root, const ReadFolderOptions& options,
                   const ListingsLimits& limits)
    : root_(std::move(root)), options_(options), limits_(limits) {}

FolderEntriesRef Listings::find_kept(const std::string& path, const file::FileVersion& version,
                                     std::int64_t asked_ms) {
  const auto found = kept_.find(path);
  if (found == kept_.end()) return nullptr;
  Kept& kept = found->second;
  const std::int64_t now_ms = base::monotonic_ms();
  kept.used_ms = now_ms;
  const bool is_current = kept.version == version && now_ms - kept.read_ms < kept.fresh_ms &&
                          file::is_settled(kept.version);
  // Of a folder that changes all the time, what was read since the question is an answer.
  return is_current || kept.read_ms > asked_ms ? kept.entries : nullptr;
}

Task<Result<FolderEntriesRef, int>> Listings::find(std::string path) {
  const std::int64_t asked_ms = base::monotonic_ms();
  drop_empty_segments(path);
  for (;;) {
    Result<file::Folder::Opened, int> folder =
        co_await root_->open_beneath(path, O_RDONLY | O_DIRECTORY);
    if (!folder) co_return std::unexpected(folder.error());
    Reading::Part part;
    {
      const std::lock_guard lock(mutex_);
      if (FolderEntriesRef entries = find_kept(path, folder->version, asked_ms)) co_return entries;
      if (reading_.in_flight(path, asked_ms)) reading_.wait(path, part);
      else reading_.begin(path, asked_ms, part);
    }
    if (part.turn) {
      part.turn->outcome = true;
      Result<FolderEntriesRef, int> entries = co_await read(path, *folder);
      co_return entries;
    }
    folder->descriptor = base::Fd();  // descriptors are scarce
    const Result<bool> ended = co_await *part.others;
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
  if (kept.entries != nullptr) drop(kept);
  bytes_ += entries->memory();
  entries->count(false);
  kept.entries = std::move(entries);
  kept.version = version;
  kept.read_ms = began_ms;
  kept.fresh_ms = std::clamp(100 * took_ms, limits_.fresh_ms_min, limits_.fresh_ms_max);
  kept.used_ms = base::monotonic_ms();
  make_room(path);
}

// Those who still send them hold them.
void Listings::drop(Kept& kept) {
  bytes_ -= kept.entries->memory();
  if (kept.entries.use_count() > 1) kept.entries->count(true);
  kept.entries = nullptr;
}

// Those that wait for the one that is kept now will look for it.
void Listings::make_room(const std::string& kept_now) {
  const std::uint64_t most =
      base::MemoryBudget::of_process().at_most(limits_.bytes_max, ListingsLimits::parts);
  while (kept_.size() > 1 && (bytes_ > most || kept_.size() > limits_.folders_max)) {
    const auto oldest = std::ranges::min_element(kept_, {}, [&](const auto& entry) {
      return std::pair(entry.first == kept_now, entry.second.used_ms);
    });
    drop(oldest->second);
    kept_.erase(oldest);
  }
}

}  // namespace h2server::content
