// What the system grants this process: descriptors, processors and memory.
#pragma once

#include <cstdint>
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

// Returns the least limit of memory of control groups in bytes; nullopt without one. The arguments
// are those of processors_of_quota(). Sources: memory.max in cgroup-v2.rst, memory.limit_in_bytes
// in cgroup-v1/memory.rst.
[[nodiscard]] std::optional<std::uint64_t> memory_of_limit(const std::filesystem::path& mounted,
                                                           std::string_view memberships);

// Returns the memory in bytes that this process may use: the machine's or its control groups', or
// what RLIMIT_AS and RLIMIT_DATA allow.
[[nodiscard]] std::uint64_t memory_allowed();

// The least ServerOptions::memory_max, and what it is if nobody says: a quarter of that memory.
inline constexpr std::uint64_t memory_max_least = 16 * 1024 * 1024;
[[nodiscard]] std::uint64_t usual_memory_max();

}  // namespace h2server::server
