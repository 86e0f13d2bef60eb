#include "server/process_numbers.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/clock.h"
#include "base/memory/resident_memory.h"

namespace h2server::server {

namespace {

std::uint64_t descriptors() {
  std::error_code failure;
  const std::filesystem::directory_iterator all("/proc/self/fd", failure);
  if (failure) return 0;
  const auto count = std::distance(begin(all), end(all));
  return static_cast<std::uint64_t>(
      std::max<std::ptrdiff_t>(count - 1, 0));  // without that of the listing
}

// proc(5), /proc/self/stat: the 22nd field is the start in ticks since the machine's, behind the
// name in parentheses, which may hold anything. The first number of /proc/uptime is its age.
double started_unix_s() {
  std::ifstream stat("/proc/self/stat");
  const std::string text((std::istreambuf_iterator<char>(stat)), {});
  std::ifstream uptime("/proc/uptime");
  double age_s = 0;
  uptime >> age_s;
  std::size_t at = text.rfind(')');
  constexpr int fields_between = 20;  // from the second to the 22nd
  for (int i = 0; i < fields_between && at != std::string::npos; ++i) at = text.find(' ', at + 1);
  if (at == std::string::npos || !uptime) return 0;
  const double ticks = std::strtod(text.c_str() + at, nullptr);
  const double now_s = static_cast<double>(base::unix_us()) / 1e6;
  return now_s - age_s + ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double cpu_s() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);  // fails for invalid arguments only
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

ProcessNumbers process_numbers() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);  // fails for invalid arguments only
  const std::int64_t resident = base::resident_memory().value_or(base::ResidentMemory()).all;
  return {.resident_bytes = static_cast<std::uint64_t>(resident),
          .descriptors = descriptors(),
          .descriptors_max = limit.rlim_cur,
          .cpu_s = cpu_s(),
          .started_unix_s = started_unix_s()};
}

}  // namespace h2server::server
