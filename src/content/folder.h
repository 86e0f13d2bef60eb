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

  // What this thread's cache knows already, without a look at the file system; null: nothing fresh.
  [[nodiscard]] const Lookup* known(std::string_view path) const;
  // From this thread's cache, and from the file system where that is behind. Whoever waits for the
  // disk lets the thread's other connections go on.
  [[nodiscard]] Task<Lookup> find(std::string path) const;
  // The same at once: the whole thread waits.
  [[nodiscard]] Lookup find_now(std::string_view path) const;

 private:
  FileCache& cache() const;

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
