// The kernel, its features and its clock.
#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "app/doctor/doctor_checks.h"
#include "app/doctor/doctor_text.h"
#include "base/text/text.h"
#include "server/schemes/scheme.h"

namespace h2server::app {

namespace {

namespace fs = std::filesystem;

// "6.1.0-13-amd64"; empty if the kernel does not tell.
std::string release_of(const SystemTree& system) {
  const std::string text = read_small(fs::path(system.proc) / "sys/kernel/osrelease");
  return text.substr(0, text.find('\n'));
}

std::string kernel_name(const SystemTree& system) {
  const std::string release = release_of(system);
  return release.empty() ? "this kernel" : "Linux " + release;
}

// Returns true if the release is known and older than `major`.`minor`.
bool older_than(const std::string& release, unsigned major, unsigned minor) {
  unsigned first = 0;
  unsigned second = 0;
  const char* const end = release.data() + release.size();
  const auto dot = std::from_chars(release.data(), end, first);
  if (dot.ec != std::errc() || dot.ptr == end || *dot.ptr != '.') return false;
  if (std::from_chars(dot.ptr + 1, end, second).ec != std::errc()) return false;
  return first != major ? first < major : second < minor;
}

// Returns true if a filter of system calls is active, as in most containers (proc(5): Seccomp).
bool is_filtered(const SystemTree& system) {
  const std::string status = read_small(fs::path(system.proc) / "self/status");
  constexpr std::string_view field = "\nSeccomp:";
  const std::size_t at = status.find(field);
  if (at == std::string::npos) return false;
  return base::trim(std::string_view(status).substr(at + field.size(), 3)).starts_with('2');
}

// Returns what an administrator can do so that io_uring works.
std::string uring_remedy(const SystemTree& system) {
  const auto disabled = read_number(fs::path(system.proc) / "sys/kernel/io_uring_disabled");
  if (disabled == 2U) {
    return "the administrator turned it off; this allows it again: "
           "sudo sysctl kernel.io_uring_disabled=0";
  }
  if (disabled == 1U) {
    return "only the group kernel.io_uring_group may use it; add the server's user to it, or allow "
           "it to all: sudo sysctl kernel.io_uring_disabled=0";
  }
  if (older_than(release_of(system), 6, 1)) return "upgrade to Linux 6.1 or newer";
  if (is_filtered(system)) {
    return "a filter of system calls (seccomp) is active, as in containers; allow io_uring_setup, "
           "io_uring_enter and io_uring_register in its profile";
  }
  return {};
}

// Returns true if the list of built-in modules names tls.
bool is_built_in(const fs::path& folder) {
  constexpr std::size_t list_bytes_max = 1024 * 1024;  // usually some 10 KiB
  return read_small(folder / "modules.builtin", list_bytes_max).find("/net/tls/tls.ko") !=
         std::string::npos;
}

bool is_loadable(const SystemTree& system) {
  const fs::path folder = fs::path(system.modules) / release_of(system);
  if (is_built_in(folder)) return true;
  std::error_code failure;
  for (const char* const name : {"tls.ko", "tls.ko.xz", "tls.ko.zst", "tls.ko.gz"}) {
    if (fs::exists(folder / "kernel/net/tls" / name, failure)) return true;
  }
  return false;
}

}  // namespace

Finding check_kernel(const SystemTree& system, int openat2_error) {
  const std::string name = kernel_name(system);
  if (openat2_error == 0) {
    return {Level::ok, "kernel", name + " keeps paths of requests inside the root (openat2)", ""};
  }
  if (openat2_error == ENOSYS && older_than(release_of(system), 5, 6)) {
    return {Level::problem, "kernel",
            name + " lacks openat2, with which the server keeps paths of requests inside the root",
            "upgrade to Linux 5.6 or newer"};
  }
  return {Level::problem, "kernel",
          fmt::format("openat2, with which the server keeps paths inside the root, fails: {}",
                      std::strerror(openat2_error)),
          is_filtered(system) || openat2_error == EPERM
              ? "allow openat2 in the container's filter of system calls (seccomp); Docker 20.10 "
                "and newer do"
              : "allow this user to open the current folder, or start in another one"};
}

Finding check_io_uring(const SystemTree& system, IoEngine wanted, const std::string& obstacle) {
  const std::string what = "the faster way to wait for clients and disks";
  if (obstacle.empty()) return {Level::ok, "io_uring", "works here: " + what, ""};
  if (wanted == IoEngine::epoll || wanted == IoEngine::blocking) {
    return {
        Level::ok, "io_uring",
        fmt::format("does not work here, and --io {} does not need it", server::name_of(wanted)),
        ""};
  }
  const bool required = wanted == IoEngine::io_uring;
  std::string remedy = uring_remedy(system);
  if (required) remedy += remedy.empty() ? "use --io auto" : "; or use --io auto";
  return {required ? Level::problem : Level::note, "io_uring",
          fmt::format("does not work here: {}{}", obstacle,
                      required ? "" : "; epoll serves instead, a little slower"),
          std::move(remedy)};
}

Finding check_ktls(const SystemTree& system) {
  std::error_code failure;
  const bool loaded = fs::exists(fs::path(system.proc) / "net/tls_stat", failure) ||
                      fs::exists(fs::path(system.sys) / "module/tls", failure);
  const char* const state = loaded                ? "is loaded"
                            : is_loadable(system) ? "can be loaded"
                                                  : "is missing";
  return {Level::ok, "kernel TLS",
          fmt::format("encryption in the kernel (module tls {}); this version does not use it yet",
                      state),
          ""};
}

Finding check_clock(const ClockFacts& clock) {
  using std::chrono::sys_seconds;
  const std::chrono::year_month_day day(
      std::chrono::floor<std::chrono::days>(sys_seconds(std::chrono::seconds(clock.now_s))));
  const int year = static_cast<int>(day.year());
  const std::string remedy = "follow a time server: sudo timedatectl set-ntp true";
  // This program was released in the first year. X.509 times of two digits end in 2049 (RFC 5280,
  // 4.1.2.5.1); the second year leaves room.
  if (year < 2026 || year > 2099) {
    return {Level::problem, "clock",
            fmt::format("it says that this is the year {}, so certificates seem invalid and caches "
                        "are misled",
                        year),
            "set it, and " + remedy};
  }
  const std::string date = fmt::format("{}-{:02}-{:02}", year, static_cast<unsigned>(day.month()),
                                       static_cast<unsigned>(day.day()));
  if (!clock.known) return {Level::ok, "clock", "today is " + date, ""};
  if (clock.synchronised) {
    return {Level::ok, "clock", fmt::format("today is {}; a time server keeps it right", date), ""};
  }
  return {Level::note, "clock",
          fmt::format("today is {}, but no time server keeps it right; if it drifts, certificates "
                      "seem invalid",
                      date),
          remedy};
}

}  // namespace h2server::app
