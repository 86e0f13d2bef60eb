#include "content/storage/directory_entries.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/fd.h"

namespace h2server::content {

namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

using EachEntry = std::function<bool(const dirent&)>;

Result<void, int> read_entries(int directory, const EachEntry& each, std::int64_t position = 0) {
  base::Fd own(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own.valid()) return std::unexpected(errno);
  // seekdir() would not say that a file system has no such position.
  if (position != 0 && ::lseek(own.get(), position, SEEK_SET) < 0) return std::unexpected(errno);
  const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(own.get()));
  if (stream == nullptr) return std::unexpected(errno);
  static_cast<void>(own.release());  // the stream owns it
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(stream.get());
    if (entry == nullptr && errno != 0) return std::unexpected(errno);
    if (entry == nullptr || !each(*entry)) return {};
  }
}

bool is_folder(int directory, const dirent& entry) noexcept {
  const std::string_view name(entry.d_name);
  if (name == "." || name == "..") return false;
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat status{};
  return ::fstatat(directory, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(status.st_mode);
}

}  // namespace

Result<void, int> for_each_entry(int directory, const std::function<bool(const char*)>& each) {
  return read_entries(directory, [&each](const dirent& entry) { return each(entry.d_name); });
}

Result<void, int> for_each_entry_from(
    std::int64_t position, int directory,
    const std::function<bool(const char* name, std::int64_t next)>& each) {
  const auto pass = [&each](const dirent& entry) { return each(entry.d_name, entry.d_off); };
  return read_entries(directory, pass, position);
}

Result<void, int> for_each_folder(int directory, const std::function<bool(const char*)>& each) {
  return read_entries(directory, [&](const dirent& entry) {
    return !is_folder(directory, entry) || each(entry.d_name);
  });
}

}  // namespace h2server::content
