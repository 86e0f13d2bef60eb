#include "server/system_limits.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <thread>

#include "h2server/options.h"

namespace h2server {

namespace server {

namespace {

using Path = std::filesystem::path;

// Returns quota divided by period, which may stand in one file, or nullopt without a quota ("max"
// or -1) or if the files cannot be read.
std::optional<double> read_ratio(const Path& quota_file, const Path& period_file) {
  std::ifstream first(quota_file);
  std::ifstream second(period_file);
  std::int64_t quota = 0;
  std::int64_t period = 0;
  if (!(first >> quota) || quota <= 0) return std::nullopt;
  std::istream& rest = quota_file == period_file ? first : second;
  if (!(rest >> period) || period <= 0) return std::nullopt;
  return static_cast<double>(quota) / static_cast<double>(period);
}

std::optional<double> quota_of(const Path& group, bool unified) {
  if (unified) return read_ratio(group / "cpu.max", group / "cpu.max");
  return read_ratio(group / "cpu.cfs_quota_us", group / "cpu.cfs_period_us");
}

// Returns the least quota of the group `name` and of its ancestors. In a container the name may be
// the one outside of it; a group that does not exist here has no quota.
std::optional<double> least_quota(const Path& mounted, std::string_view name, bool unified) {
  std::optional<double> least;
  for (Path group = Path(name).relative_path();; group = group.parent_path()) {
    const std::optional<double> quota = quota_of(mounted / group, unified);
    if (quota) least = std::min(least.value_or(*quota), *quota);
    if (group.empty()) return least;
  }
}

}  // namespace

void raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);  // it stays as it is where that is refused
}

std::optional<unsigned> processors_of_quota(const Path& mounted, std::string_view memberships) {
  std::optional<double> least;
  std::istringstream lines{std::string(memberships)};
  // "0::/group" in the unified hierarchy, "4:cpu,cpuacct:/group" in version 1.
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool unified = controllers == ",,";
    if (!unified && controllers.find(",cpu,") == std::string::npos) continue;
    const std::string name = line.substr(second + 1);
    const std::optional<double> quota =
        least_quota(unified ? mounted : mounted / "cpu", name, unified);
    if (quota) least = std::min(least.value_or(*quota), *quota);
  }
  if (!least) return std::nullopt;
  constexpr double most = 1024;  // beyond it no quota is of interest
  const double whole = std::min(*least, most);
  const auto floor = static_cast<unsigned>(whole);
  return std::max(floor + (whole > floor ? 1U : 0U), 1U);
}

}  // namespace server

unsigned processors_allowed() noexcept {
  cpu_set_t set;
  unsigned processors = std::max(std::thread::hardware_concurrency(), 1U);
  // Fails with EINVAL where there are more processors than the set has room for.
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    processors = static_cast<unsigned>(std::max(CPU_COUNT(&set), 1));
  }
  std::ifstream file("/proc/self/cgroup");
  std::string memberships;
  std::getline(file, memberships, '\0');
  const std::optional<unsigned> quota = server::processors_of_quota("/sys/fs/cgroup", memberships);
  return std::min(processors, quota.value_or(processors));
}

}  // namespace h2server
