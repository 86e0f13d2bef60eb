#include "file/open_beneath.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "file/calls.h"

namespace h2server::file {

namespace {

constexpr int attempts_max = 8;  // EAGAIN: something above was renamed meanwhile

open_how how_to_open(int flags) noexcept {
  // openat2() refuses O_NONBLOCK with O_PATH, which never blocks.
  if ((flags & O_PATH) == 0) flags |= O_NONBLOCK;
  // Links of /proc lead anywhere; those that stay beneath are the owner's choice.
  return {.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC),
          .mode = 0,
          .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
}

std::string name_below(std::string_view path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  return std::string(path.empty() ? std::string_view(".") : path);
}

bool is_to_be_tried_again(int result) { return result == -EAGAIN || result == -EINTR; }

Result<base::Fd, int> opened(int result) {
  if (result >= 0) return base::Fd(result);
  return std::unexpected(-result);
}

Result<base::Fd, int> opened_anywhere(int result) {
  return opened(result == -EXDEV ? -ENOENT : result);
}

}  // namespace

Task<Result<base::Fd, int>> open_beneath(io::Engine* engine, int directory, std::string_view path,
                                         int flags) {
  const std::string name = name_below(path);
  open_how how = how_to_open(flags);
  // Another mount may be of a file system whose open() waits although the path is in memory.
  if (engine != nullptr) how.resolve |= RESOLVE_NO_XDEV;
  const io::FileCall call = io::FileCall::open(directory, name.c_str(), how);
  int result = -EAGAIN;
  for (int attempt = 0; attempt < attempts_max && is_to_be_tried_again(result); ++attempt) {
    result = co_await make_call(engine, call);
  }
  co_return engine != nullptr ? opened(result) : opened_anywhere(result);
}

Result<base::Fd, int> open_beneath_now(int directory, std::string_view path, int flags) {
  const std::string name = name_below(path);
  const io::FileCall call = io::FileCall::open(directory, name.c_str(), how_to_open(flags));
  int result = -EAGAIN;
  for (int attempt = 0; attempt < attempts_max && is_to_be_tried_again(result); ++attempt) {
    result = call.make(true);
  }
  return opened_anywhere(result);
}

int probe_open_beneath() noexcept {
  const io::FileCall call = io::FileCall::open(AT_FDCWD, ".", how_to_open(O_RDONLY | O_DIRECTORY));
  const base::Fd opened(call.make(true));
  return opened.valid() ? 0 : -opened.get();
}

}  // namespace h2server::file
