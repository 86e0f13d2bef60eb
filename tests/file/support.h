// For tests with files: files made by hand, and a cache with one folder.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "file/cache.h"
#include "file/calls.h"
#include "file/content.h"
#include "file/folder.h"
#include "http/file_head.h"

namespace h2server::tests {

inline std::string_view bytes_of(const File& file) {
  return {file.content().bytes(), static_cast<std::size_t>(file.size())};
}

// Holds a copy of the text.
inline FileRef text_file(std::string_view text, std::string_view path = "page.html") {
  auto bytes = std::make_unique_for_overwrite<char[]>(text.size());
  std::ranges::copy(text, bytes.get());
  auto content = std::make_unique<const file::Content>(file::FileVersion{.size = text.size()},
                                                       std::move(bytes));
  return http::make_file(std::move(content), path, 0);
}

// Maps the file as it is now.
inline FileRef map_file(const std::string& path) {
  base::Fd descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::optional<file::FileVersion> version = file::version_of(descriptor.get());
  EXPECT_TRUE(version.has_value()) << path;
  auto content = file::Content::map(*version, std::move(descriptor));
  EXPECT_NE(content, nullptr) << path;
  return http::make_file(std::move(content), path, 0);
}

// Takes a snapshot of a mapped file.
inline FileRef snapshot_of(const File& file) {
  auto content =
      file::Content::snapshot(file.content().version(), file.content().descriptor(), UINT64_MAX);
  EXPECT_NE(content, nullptr);
  return std::make_shared<const File>(std::move(content), file);
}

// Occupies threads of an engine until it is removed.
class Obstacle {
 public:
  Task<void> stand(io::Engine* engine, file::WaitingOptions options) {
    const auto work = [this] {
      removed_.wait();
      return 0;
    };
    co_await file::run_waiting(engine, work, options);
  }
  void remove() { removed_.count_down(); }

 private:
  std::latch removed_{1};
};

// A cache of its own for one directory.
class FolderCache {
 public:
  explicit FolderCache(int directory, const file::CacheLimits& limits = {},
                       std::int64_t fresh_ms = 1000)
      : cache_(limits),
        folder_("", base::Fd(::fcntl(directory, F_DUPFD_CLOEXEC, 0)),
                {.make_file = http::make_file, .fresh_ms = fresh_ms}, cache_) {}

  Task<file::Lookup> find(io::Engine* engine, std::string path, std::int64_t now_ms) {
    const file::Cache::Entry entry = co_await cache_.find(engine, folder_, std::move(path), now_ms);
    co_return entry->lookup;
  }

  [[nodiscard]] file::Cache& cache() noexcept { return cache_; }
  [[nodiscard]] const file::Folder& folder() const noexcept { return folder_; }
  [[nodiscard]] std::size_t bytes() const { return cache_.bytes(); }
  [[nodiscard]] std::size_t entries() const { return cache_.entries(); }

 private:
  file::Cache cache_;
  file::Folder folder_;
};

}  // namespace h2server::tests
