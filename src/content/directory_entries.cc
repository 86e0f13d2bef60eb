#include "content/directory_entries.h"

#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <memory>

#include "base/fd.h"

namespace h2server::content {

namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

}  // namespace

Result<void, int> for_each_entry(int directory, const std::function<bool(const char*)>& each) {
  base::Fd own(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own.valid()) return std::unexpected(errno);
  const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(own.get()));
  if (stream == nullptr) return std::unexpected(errno);
  static_cast<void>(own.release());  // the stream owns it
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(stream.get());
    if (entry == nullptr && errno != 0) return std::unexpected(errno);
    if (entry == nullptr || !each(entry->d_name)) return {};
  }
}

}  // namespace h2server::content
