#include "content/uploads/area/upload_directory.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/shared_objects.h"
#include "content/storage/upload_file.h"
#include "content/storage/upload_path.h"

namespace h2server::content {

namespace {

using Key = std::pair<dev_t, ino_t>;  // an open directory's inode number is not reused
using Directories = std::map<Key, std::shared_ptr<UploadDirectory>>;

// Directories stay open for later requests. At this count the unused ones are closed. A program may
// have a directory for each of its users.
constexpr std::size_t directories_max = 64;

}  // namespace

UploadDirectory::UploadDirectory(base::Fd directory) : directory_(std::move(directory)) {
  if (const Result<void, int> done = remove_abandoned(fd()); !done) {
    base::log_error("can't look for abandoned uploads: {}", std::strerror(done.error()));
  }
}

bool UploadDirectory::is_locked(const std::string& path) const {
  if (locks_.empty()) return false;
  const std::int64_t now_ms = base::monotonic_ms();
  const auto is_new = [this](const std::string& name) {
    struct stat status{};
    return ::fstatat(fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0;
  };
  bool makes = true;  // the name, and then the folders that are made for it
  for (std::string name = path; makes && !name.empty(); name.resize(folder_of(name).size())) {
    makes = is_new(name);
    if (locks_.obstacle({.path = name, .membership = makes}, {}, now_ms)) return true;
  }
  return false;
}

Result<std::shared_ptr<UploadDirectory>, int> UploadDirectory::open(int directory) {
  base::Fd own(::fcntl(directory, F_DUPFD_CLOEXEC, 0));
  if (!own.valid()) return std::unexpected(errno);
  return std::make_shared<UploadDirectory>(std::move(own));
}

Result<std::shared_ptr<UploadDirectory>, int> UploadDirectory::share(int directory) {
  base::Fd own(::fcntl(directory, F_DUPFD_CLOEXEC, 0));
  struct stat status{};
  if (!own.valid() || ::fstat(own.get(), &status) != 0) return std::unexpected(errno);
  static base::SharedObjects<Key, UploadDirectory> all;
  auto shared = all.get({status.st_dev, status.st_ino}, std::move(own));
  shared->space().forget_count();  // its options may have changed
  return shared;
}

Result<std::shared_ptr<UploadDirectory>, int> UploadDirectory::find(const std::string& path) {
  base::Fd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat status{};
  if (!directory.valid() || ::fstat(directory.get(), &status) != 0) return std::unexpected(errno);
  static std::mutex mutex;
  static Directories known;
  const std::lock_guard lock(mutex);
  const Key key(status.st_dev, status.st_ino);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  if (known.size() >= directories_max) {
    std::erase_if(known, [](const auto& entry) { return entry.second.use_count() == 1; });
  }
  return known.emplace(key, std::make_shared<UploadDirectory>(std::move(directory))).first->second;
}

}  // namespace h2server::content
