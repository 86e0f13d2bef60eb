#include "base/descriptor_limit.h"

#include <sys/resource.h>

namespace h2server::base {

void raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);  // it stays as it is where that is refused
}

}  // namespace h2server::base
