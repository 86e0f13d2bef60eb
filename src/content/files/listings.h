// Listings: what the folders below a root contain, read once for many requests. Shared by all
// workers.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "content/files/folder_entries.h"
#include "coro/single_flight.h"
#include "file/folder.h"
#include "h2server/result.h"
#include "h2server/task.h"

namespace h2server::content {

using FolderEntriesRef = std::shared_ptr<const FolderEntries>;

struct ListingsLimits {
  // Of kept listings; the last one is kept in any case. No more than a part of
  // ServerOptions::memory_max: one of so many.
  std::size_t bytes_max = 64 * 1024 * 1024;
  static constexpr unsigned parts = 16;
  std::size_t folders_max = 1024;
  // A listing is used for that long, if its folder has not changed: sizes and times of files change
  // without a change of the folder. One that took long to read is used for a hundred times as long
  // as that took, within the second limit.
  std::int64_t fresh_ms_min = 1000;
  std::int64_t fresh_ms_max = 60'000;
};

class Listings {
 public:
  Listings(std::shared_ptr<const file::Folder> root, const ReadFolderOptions& options,
           const ListingsLimits& limits = {});

  // Returns the entries of the folder with that path, empty or ending in a slash. While one request
  // reads a folder, others wait for it. The error is an errno value, ENOENT also for what is no
  // folder, ENOMEM if memory is tight, and ECANCELED if the caller is to stop.
  [[nodiscard]] Task<Result<FolderEntriesRef, int>> find(std::string path);

 private:
  struct Kept {
    FolderEntriesRef entries;
    file::FileVersion version;
    std::int64_t read_ms = 0;
    std::int64_t fresh_ms = 0;
    std::int64_t used_ms = 0;
  };
  // Those that wait look at the folder again, which may have changed.
  using Reading = coro::SingleFlight<bool>;

  // With the lock held. Null: the folder has to be read.
  [[nodiscard]] FolderEntriesRef find_kept(const std::string& path,
                                           const file::FileVersion& version, std::int64_t asked_ms);
  void keep(const std::string& path, const file::FileVersion& version, FolderEntriesRef entries,
            std::int64_t began_ms);
  void drop(Kept& kept);
  void make_room(const std::string& kept_now);

  Task<Result<FolderEntriesRef, int>> read(const std::string& path,
                                           const file::Folder::Opened& folder);

  const std::shared_ptr<const file::Folder> root_;
  const ReadFolderOptions options_;
  const ListingsLimits limits_;
  std::mutex mutex_;  // for all below
  std::map<std::string, Kept, std::less<>> kept_;
  std::size_t bytes_ = 0;
  Reading reading_{mutex_};
};

}  // namespace h2server::content
