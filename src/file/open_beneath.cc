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
  // Links of /proc lead anywhere; those that stay beneath are the owner's choice.
  return {.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NONBLOCK),
          .mode = 0,
          .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
}

}  // namespace

Task<Result<base::Fd, int>> open_beneath(io::Engine* engine, int directory, std::string_view path,
                                         int flags) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  const std::string name(path.empty() ? std::string_view(".") : path);
  const io::FileCall call = io::FileCall::open(directory, name.c_str(), how_to_open(flags));
  int result = -EAGAIN;
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    result = co_await make_call(engine, call);
    if (result >= 0) co_return base::Fd(result);
    if (result != -EAGAIN && result != -EINTR) break;
  }
  co_return std::unexpected(result == -EXDEV ? ENOENT : -result);
}

int probe_open_beneath() noexcept {
  const io::FileCall call = io::FileCall::open(AT_FDCWD, ".", how_to_open(O_RDONLY | O_DIRECTORY));
  const base::Fd opened(call.make(true));
  return opened.valid() ? 0 : -opened.get();
}

}  // namespace h2server::file
