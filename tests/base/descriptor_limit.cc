// The test program holds both ends of its connections: more descriptors than the 1024 that a login
// usually allows.
#include <sys/resource.h>

#include <algorithm>

namespace {

[[maybe_unused]] const bool raised = [] {
  constexpr rlim_t enough = 65'536;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, enough));
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}();

}  // namespace
