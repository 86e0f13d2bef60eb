// Folder: a directory whose files are served. All workers share it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "file/cache.h"
#include "file/content.h"
#include "file/slow_file_system.h"
#include "h2server/result.h"

namespace h2server::file {

struct FolderOptions {
  // Makes the file to serve from its content, on any thread. `now_s` is in seconds since 1970.
  std::function<FileRef(std::unique_ptr<const Content> content, std::string_view path,
                        std::int64_t now_s)>
      make_file = {};
  std::int64_t fresh_ms = 1000;  // how long a lookup is used without a check of the file system
  // Returns true if the file system of an open file is slow. Called where it may wait.
  bool (*is_slow)(int descriptor) noexcept = &file::may_wait;
};

class Folder {
 public:
  // The error is an errno value.
  static Result<std::shared_ptr<const Folder>, int> open(const std::string& path,
                                                         const FolderOptions& options);
  // `directory` is an open directory. No path leads out of it, by ".." or by links (openat2,
  // RESOLVE_BENEATH). `cache` must outlive the folder.
  Folder(std::string path, base::Fd directory, const FolderOptions& options,
         Cache& cache = Cache::of_process());
  // A folder without a directory: it has what keep() is given, and finds nothing else.
  explicit Folder(std::int64_t fresh_ms, Cache& cache = Cache::of_process());
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();

  [[nodiscard]] int fd() const noexcept { return directory_.get(); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // Returns true if the directory is on a slow file system (file/slow_file_system.h): then threads
  // open what is beneath it. What is on other mounts beneath it, threads open always.
  [[nodiscard]] bool may_wait() const noexcept { return may_wait_; }
  [[nodiscard]] std::uint64_t device() const noexcept { return device_; }
  // Asks for an open file beneath it. May wait.
  [[nodiscard]] bool finds_slow(int descriptor) const noexcept {
    return options_.is_slow(descriptor);
  }
  // Tells the operator, once for the folder, why a file beneath it is read and not mapped; `error`
  // is an errno value.
  void report_unmapped(std::string_view path, int error) const;
  [[nodiscard]] std::int64_t fresh_ms() const noexcept { return options_.fresh_ms; }
  [[nodiscard]] FileRef make_file(std::unique_ptr<const Content> content, std::string_view path,
                                  std::int64_t now_s) const {
    return options_.make_file(std::move(content), path, now_s);
  }

  // Returns the cached lookup of a path relative to the folder; nullopt if there is no fresh one.
  // Does not look at the file system.
  [[nodiscard]] std::optional<Lookup> known(std::string_view path) const;

  struct Kept {
    Lookup lookup;
    std::int64_t age_ms = 0;  // since it was known to be true
  };
  // Returns what the cache has of the path, fresh or not. Without a directory only.
  [[nodiscard]] std::optional<Kept> kept(std::string_view path) const;
  // Keeps a lookup that was true at `checked_ms`, of base::monotonic_ms(). Returns the one to use,
  // which is that of a later check if there is one. Without a directory only.
  Lookup keep(std::string path, Lookup lookup, std::int64_t checked_ms) const;
  // Returns what to keep of a mapped file that is kept and was found unchanged at `now_ms`: that,
  // or a snapshot of it. Without a directory only.
  [[nodiscard]] Task<FileRef> refresh(std::string path, FileRef file, std::int64_t now_ms) const;
  // Drops what is kept of the path. Without a directory only.
  void forget(std::string_view path) const;

  // These need a directory.

  // Looks the path up in the cache, and in the file system if there is no fresh lookup. Other
  // connections go on while it waits for the disk.
  [[nodiscard]] Task<Lookup> find(std::string path) const;
  struct Opened {
    base::Fd descriptor = {};
    FileVersion version = {};
    bool slow = false;  // calls on the descriptor may wait
  };
  // Opens a path as open_beneath() does, to other mounts, too. Other connections go on while it
  // waits. The error is an errno value.
  [[nodiscard]] Task<Result<Opened, int>> open_beneath(std::string path, int flags) const;
  // The same as find(), but blocks the thread on the disk.
  [[nodiscard]] Lookup find_now(std::string_view path) const;

 private:
  const std::string path_;
  const base::Fd directory_;
  const FolderOptions options_;
  Cache& cache_;
  const bool may_wait_ = false;
  const std::uint64_t device_ = 0;
  mutable std::atomic<bool> unmapped_reported_{false};
};

}  // namespace h2server::file
