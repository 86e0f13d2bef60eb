#include "server/system_limits.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

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

std::optional<std::uint64_t> memory_of(const Path& group, bool unified) {
  std::ifstream file(group / (unified ? "memory.max" : "memory.limit_in_bytes"));
  std::uint64_t bytes = 0;
  if (!(file >> bytes)) return std::nullopt;  // "max"
  return bytes;
}

// Returns the least value that `value_of(group, unified)` has for the groups of this process and
// their ancestors. In a container a group's name may be the one outside of it; a group that does
// not exist here has no value.
template <class Value>
std::optional<Value> least_of_groups(const Path& mounted, std::string_view memberships,
                                     const std::string& controller,
                                     std::optional<Value> (*value_of)(const Path&, bool)) {
  std::optional<Value> least;
  std::istringstream lines{std::string(memberships)};
  // "0::/group" in the unified hierarchy, "4:cpu,cpuacct:/group" in version 1.
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool unified = controllers == ",,";
    if (!unified && controllers.find("," + controller + ",") == std::string::npos) continue;
    const Path root = unified ? mounted : mounted / controller;
    for (Path group = Path(line.substr(second + 1)).relative_path();; group = group.parent_path()) {
      const std::optional<Value> value = value_of(root / group, unified);
      if (value) least = std::min(least.value_or(*value), *value);
      if (group.empty()) break;
    }
  }
  return least;
}

constexpr const char* groups_mounted = "/sys/fs/cgroup";

std::string read_memberships() {
  std::ifstream file("/proc/self/cgroup");
  std::string memberships;
  std::getline(file, memberships, '\0');
  return memberships;
}

}  // namespace

void raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);  // it stays as it is where that is refused
}

std::optional<unsigned> processors_of_quota(const Path& mounted, std::string_view memberships) {
  const std::optional<double> least = least_of_groups(mounted, memberships, "cpu", quota_of);
  if (!least) return std::nullopt;
  constexpr double most = 1024;  // beyond it no quota is of interest
  const double whole = std::min(*least, most);
  const auto floor = static_cast<unsigned>(whole);
  return std::max(floor + (whole > floor ? 1U : 0U), 1U);
}

std::optional<std::uint64_t> memory_of_limit(const Path& mounted, std::string_view memberships) {
  return least_of_groups(mounted, memberships, "memory", memory_of);
}

std::uint64_t memory_allowed() {
  const auto pages = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 1L));
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto limit = memory_of_limit(groups_mounted, read_memberships());
  std::uint64_t least = std::min(pages * page_bytes, limit.value_or(UINT64_MAX));
  for (const auto kind : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit own{};  // RLIM_INFINITY is the largest number
    if (::getrlimit(kind, &own) == 0) least = std::min<std::uint64_t>(least, own.rlim_cur);
  }
  return least;
}

std::uint64_t usual_memory_max() { return std::max(memory_allowed() / 4, memory_max_least); }

}  // namespace server

unsigned processors_allowed() noexcept {
  cpu_set_t set;
  unsigned processors = std::max(std::thread::hardware_concurrency(), 1U);
  // Fails with EINVAL where there are more processors than the set has room for.
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    processors = static_cast<unsigned>(std::max(CPU_COUNT(&set), 1));
  }
  const std::optional<unsigned> quota =
      server::processors_of_quota(server::groups_mounted, server::read_memberships());
  return std::min(processors, quota.value_or(processors));
}

}  // namespace h2server
