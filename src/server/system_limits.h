// What the system grants this process: descriptors and processors.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace h2server::server {

// Raises the soft limit of descriptors, often 1024, to the hard one, if the system allows it.
void raise_descriptor_limit() noexcept;

// Returns the processors that the CPU quotas of control groups allow, rounded up; nullopt without a
// quota. `mounted` is where the groups are mounted, /sys/fs/cgroup; `memberships` is the text of
// /proc/self/cgroup. Sources: cpu.max in the kernel's cgroup-v2.rst, sched-bwc.rst for version 1.
[[nodiscard]] std::optional<unsigned> processors_of_quota(const std::filesystem::path& mounted,
                                                          std::string_view memberships);

}  // namespace h2server::server
