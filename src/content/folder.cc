#include "content/folder.h"

#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <unordered_map>

#include "base/assert.h"
#include "base/clock.h"
#include "coro/task_group.h"
#include "http/message.h"

namespace h2server {

namespace content {

namespace {

std::atomic<std::size_t> folders{0};

thread_local std::unordered_map<std::size_t, std::unique_ptr<FileCache>> caches;
thread_local const Folder* thread_folder = nullptr;

Task<void> keep(Task<Lookup> task, Lookup& found) { found = co_await task; }

}  // namespace

Result<std::shared_ptr<const Folder>, int> Folder::open(const std::string& path,
                                                        const FileCacheLimits& limits) {
  base::Fd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return std::unexpected(errno);
  return std::make_shared<const Folder>(path, std::move(directory), limits);
}

Folder::Folder(std::string path, base::Fd directory, const FileCacheLimits& limits)
    : path_(std::move(path)),
      directory_(std::move(directory)),
      limits_(limits),
      number_(folders.fetch_add(1)) {}

FileCache& Folder::cache() const {
  std::unique_ptr<FileCache>& cache = caches[number_];
  if (cache == nullptr) cache = std::make_unique<FileCache>(directory_.get(), limits_);
  return *cache;
}

const Lookup* Folder::known(std::string_view path) const {
  return cache().known(path, base::monotonic_ms());
}

Task<Lookup> Folder::find(std::string path) const {
  Lookup found =
      co_await cache().find(io::Engine::current(), std::move(path), base::monotonic_ms());
  co_return found;
}

Lookup Folder::find_now(std::string_view path) const {
  if (const Lookup* const fresh = known(path)) return *fresh;
  Lookup found;
  coro::TaskGroup task;
  task.start(keep(cache().find(nullptr, std::string(path), base::monotonic_ms()), found));
  ASSERT(task.running() == 0);  // without an engine nothing suspends
  return found;
}

void set_thread_folder(const Folder* folder) noexcept { thread_folder = folder; }

Response refusal(Lookup::Kind kind) {
  switch (kind) {
    case Lookup::Kind::forbidden:
      return http::error_response(403);
    case Lookup::Kind::failed: {
      Response response = http::error_response(503);
      response.add("Retry-After", "1");
      return response;
    }
    case Lookup::Kind::absent:
    case Lookup::Kind::directory:
    case Lookup::Kind::file:
      break;
  }
  return http::error_response(404);
}

}  // namespace content

FileRef load_file_from_filecache(std::string_view path) {
  const content::Folder* const folder = content::thread_folder;
  return folder != nullptr ? folder->find_now(path).file : nullptr;
}

}  // namespace h2server
