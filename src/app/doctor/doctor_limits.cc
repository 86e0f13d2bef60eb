// What the system grants to this process: descriptors, processors, memory, threads.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string_view>

#include "app/doctor/doctor_checks.h"
#include "app/doctor/doctor_text.h"

namespace h2server::app {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t mebibyte = 1024 * 1024;
// A server without load takes about 10 MiB; buffers and the file cache of a busy one, some tens.
constexpr std::uint64_t memory_bytes_min = 32 * mebibyte;
constexpr std::uint64_t memory_bytes_good = 128 * mebibyte;
// Fewer connections than browsers of some hundred visitors open, six each over HTTP/1.1.
constexpr std::uint64_t connections_good = 2048;
constexpr std::uint64_t descriptors_min = 64;

// Names of a limit's files in the two versions of control groups (cgroups(7)).
struct GroupFiles {
  std::string_view controller;
  std::string_view limit;
  std::string_view limit_of_v1;
  std::string_view used;
};

struct Budget {
  std::uint64_t limit = 0;
  std::uint64_t used = 0;

  [[nodiscard]] std::uint64_t left() const noexcept { return limit - std::min(limit, used); }
};

void keep_tighter(std::optional<Budget>& tightest, const Budget& budget) {
  if (!tightest || budget.left() < tightest->left()) tightest = budget;
}

// Looks at the group `name` below `mounted` and at its ancestors. In a container the name may be
// the one outside of it; a group that does not exist here has no limit.
void look_at_groups(const fs::path& mounted, std::string_view name, std::string_view limit_file,
                    std::string_view used_file, std::optional<Budget>& tightest) {
  for (fs::path group = fs::path(name).relative_path();; group = group.parent_path()) {
    const auto limit = read_number(mounted / group / limit_file);
    const auto used = read_number(mounted / group / used_file);
    if (limit) keep_tighter(tightest, {*limit, used.value_or(0)});
    if (group.empty()) return;
  }
}

// Returns the tightest limit of the groups of this process, or nullopt if there is none.
std::optional<Budget> group_budget(const SystemTree& system, const GroupFiles& files) {
  std::optional<Budget> tightest;
  std::istringstream lines{read_small(fs::path(system.proc) / "self/cgroup")};
  const fs::path mounted = fs::path(system.sys) / "fs/cgroup";
  const std::string wanted = fmt::format(",{},", files.controller);
  // "0::/group" in the unified hierarchy, "4:memory:/group" in version 1.
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string name = line.substr(second + 1);
    if (controllers == ",,") look_at_groups(mounted, name, files.limit, files.used, tightest);
    if (controllers.find(wanted) == std::string::npos) continue;
    look_at_groups(mounted / files.controller, name, files.limit_of_v1, files.used, tightest);
  }
  return tightest;
}

// Returns a field of /proc/meminfo in bytes.
std::optional<std::uint64_t> memory_field(const std::string& meminfo, std::string_view field) {
  std::istringstream lines(meminfo);
  for (std::string name, rest; lines >> name; std::getline(lines, rest)) {
    std::uint64_t kibibytes = 0;
    if (name == field && lines >> kibibytes) return kibibytes * 1024;
    lines.clear();
  }
  return std::nullopt;
}

}  // namespace

Finding check_descriptors(const DescriptorFacts& limit) {
  // As the server counts: some for files that it keeps open, and for each worker.
  constexpr std::uint64_t most = 1'000'000;
  constexpr std::uint64_t cached_files_max = 1024;
  const std::uint64_t all = std::min(limit.hard, most);
  const std::uint64_t cached = std::min(all / 8, cached_files_max);
  const std::uint64_t files = cached + 32 * (std::uint64_t{limit.workers} + 1);
  const std::uint64_t connections = all - std::min(all / 4, files);
  std::string text = fmt::format(
      "enough for {} (limit {}{})", counted(connections, "open connection"), grouped(limit.hard),
      limit.soft < limit.hard
          ? fmt::format("; the server itself raises it from {}", grouped(limit.soft))
          : "");
  const Level level = limit.hard < descriptors_min     ? Level::problem
                      : connections < connections_good ? Level::note
                                                       : Level::ok;
  return {level, "descriptors", std::move(text),
          level == Level::ok ? ""
                             : "raise the limit on open files: LimitNOFILE=65536 in a systemd "
                               "unit, --ulimit nofile=65536 for Docker, ulimit -n 65536 as root"};
}

Finding check_processors(const ProcessorFacts& processors) {
  const std::string allowed =
      processors.allowed < processors.online
          ? fmt::format("{} of {} may be used", processors.allowed, processors.online)
          : fmt::format("{} may be used", processors.allowed);
  if (!processors.event_loops) return {Level::ok, "processors", allowed, ""};
  const std::string workers = counted(processors.workers, "worker");
  if (processors.workers > processors.allowed) {
    return {Level::note, "processors",
            fmt::format("{}, but the server starts {}, which get in each other's way", allowed,
                        workers),
            "start as many workers as there are processors: --threads auto"};
  }
  const bool idle = processors.workers < processors.allowed;
  return {Level::ok, "processors",
          fmt::format("{}; the server starts {}{}", allowed, workers,
                      idle ? fmt::format(" (--threads auto: {})", processors.allowed) : ""),
          ""};
}

Finding check_memory(const SystemTree& system) {
  const std::string meminfo = read_small(fs::path(system.proc) / "meminfo");
  const auto available = memory_field(meminfo, "MemAvailable:");
  // Version 1 counts no limit as a huge one. What is used includes the page cache, which the kernel
  // takes back, so only the limit counts.
  std::optional<Budget> group =
      group_budget(system, {"memory", "memory.max", "memory.limit_in_bytes", ""});
  const auto total = memory_field(meminfo, "MemTotal:");
  if (group && total && group->limit >= *total) group.reset();
  if (!available && !group) return {Level::ok, "memory", "not known here", ""};
  const std::uint64_t free = available.value_or(std::numeric_limits<std::uint64_t>::max());
  const std::uint64_t usable = group ? std::min(free, group->limit) : free;
  std::string text = available ? fmt::format("{} available", bytes_text(free)) : std::string();
  if (group) {
    text += fmt::format("{}the control group (container, service) may use {}",
                        text.empty() ? "" : "; ", bytes_text(group->limit));
  }
  const Level level = usable < memory_bytes_min    ? Level::problem
                      : usable < memory_bytes_good ? Level::note
                                                   : Level::ok;
  return {level, "memory", std::move(text),
          level == Level::ok ? ""
                             : "free some, or raise the limit: MemoryMax= in a systemd unit, "
                               "--memory for Docker; 128 MiB are enough to begin with"};
}

std::optional<Finding> check_tasks(const SystemTree& system, unsigned threads) {
  const auto group = group_budget(system, {"pids", "pids.max", "pids.max", "pids.current"});
  if (!group) return std::nullopt;
  std::string text = fmt::format("the control group (container, service) has room for {} more",
                                 grouped(group->left()));
  if (group->left() >= threads) return Finding{Level::ok, "threads", std::move(text), ""};
  return Finding{Level::problem, "threads",
                 fmt::format("{}, and the server may start {}", text, grouped(threads)),
                 fmt::format("raise the limit: TasksMax={} in a systemd unit, --pids-limit for "
                             "Docker",
                             group->limit + threads)};
}

}  // namespace h2server::app
