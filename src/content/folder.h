// Folder: a directory that is served. Shared by all workers; each has a cache of its own for it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "content/file_cache.h"
#include "h2server/response.h"
#include "h2server/result.h"

namespace h2server::content {

class Folder {
 public:
  // The error is an errno value.
  static Result<std::shared_ptr<const Folder>, int> open(const std::string& path,
                                                         const FileCacheLimits& limits = {});
  // `directory` is that of `path`, open.
  Folder(std::string path, base::Fd directory, const FileCacheLimits& limits);

  [[nodiscard]] int fd() const noexcept { return directory_.get(); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // From the cache of this thread.
  [[nodiscard]] Lookup find(std::string_view path) const;

 private:
  std::string path_;
  base::Fd directory_;
  FileCacheLimits limits_;
  std::size_t number_;  // of all folders there ever were: names the thread's cache
};

// Where load_file_from_filecache() looks on this thread. Null: nowhere. Outlives its use.
void set_thread_folder(const Folder* folder) noexcept;

// The answer where there is no file to serve: 403, 404 or 503.
Response refusal(Lookup::Kind kind);

}  // namespace h2server::content
