// Ports, the queue of new connections, and IPv6.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>

#include "app/doctor/doctor_checks.h"
#include "app/doctor/doctor_text.h"
#include "base/text/text.h"
#include "net/listener.h"

namespace h2server::app {

namespace {

namespace fs = std::filesystem;

// The sockets that listen on a port, and the users who opened them.
struct Listening {
  std::set<std::string> inodes;
  std::set<std::string> users;
};

// Adds what a line of /proc/net/tcp tells (proc_net_tcp.rst of the kernel):
//   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000  0 31415 …
void add_if_listening(const std::string& line, std::uint16_t port, Listening& found) {
  std::istringstream in(line);
  const std::vector<std::string> fields{std::istream_iterator<std::string>(in), {}};
  constexpr std::size_t address = 1;
  constexpr std::size_t state = 3;
  constexpr std::size_t user = 7;
  constexpr std::size_t inode = 9;
  if (fields.size() <= inode || fields[state] != "0A") return;  // TCP_LISTEN
  const std::size_t colon = fields[address].find(':');
  if (colon == std::string::npos) return;
  if (fields[address].substr(colon + 1) != fmt::format("{:04X}", port)) return;
  found.inodes.insert(fields[inode]);
  found.users.insert(fields[user]);
}

Listening listening_on(const SystemTree& system, std::uint16_t port) {
  Listening found;
  constexpr std::size_t table_bytes_max = 64 * 1024 * 1024;  // some 400 000 connections
  for (const char* const table : {"net/tcp", "net/tcp6"}) {
    std::istringstream lines(read_small(fs::path(system.proc) / table, table_bytes_max));
    for (std::string line; std::getline(lines, line);) add_if_listening(line, port, found);
  }
  return found;
}

// Returns true if one of the descriptors below /proc/PID/fd is one of the sockets.
bool holds(const fs::path& process, const std::set<std::string>& inodes) {
  constexpr std::string_view prefix = "socket:[";
  std::error_code failure;  // EACCES: another user's process; ENOENT: it has ended
  for (auto one = fs::directory_iterator(process / "fd", failure);
       !failure && one != fs::directory_iterator(); one.increment(failure)) {
    std::error_code gone;
    const std::string target = fs::read_symlink(one->path(), gone).string();
    if (gone || !target.starts_with(prefix) || !target.ends_with(']')) continue;
    if (inodes.contains(target.substr(prefix.size(), target.size() - prefix.size() - 1))) {
      return true;
    }
  }
  return false;
}

// "nginx (process 812)", "a program of user 33", or empty if the kernel does not tell.
std::string owner_of(const SystemTree& system, std::uint16_t port) {
  const Listening found = listening_on(system, port);
  if (found.inodes.empty()) return {};
  std::error_code failure;
  for (auto one = fs::directory_iterator(system.proc, failure);
       !failure && one != fs::directory_iterator(); one.increment(failure)) {
    const std::string number = one->path().filename().string();
    if (!base::parse_decimal(number) || !holds(one->path(), found.inodes)) continue;
    const std::string name = read_small(one->path() / "comm");
    return fmt::format("{} (process {})", name.substr(0, name.find('\n')), number);
  }
  return "a program of user " + *found.users.begin();
}

std::string by(const std::string& owner) { return owner.empty() ? "" : " by " + owner; }

// The path of this program, for setcap.
std::string program_path(const SystemTree& system) {
  std::error_code failure;
  const fs::path path = fs::read_symlink(fs::path(system.proc) / "self/exe", failure);
  return failure ? "/usr/bin/h2server" : path.string();
}

std::string privilege_remedy(const SystemTree& system) {
  return fmt::format("choose a higher one with --port, such as 8443; or grant the privilege: "
                     "AmbientCapabilities=CAP_NET_BIND_SERVICE in a systemd unit, or "
                     "sudo setcap cap_net_bind_service=+ep {}",
                     program_path(system));
}

// Returns true if an interface other than loopback has an address that others can reach by IPv6:
// lines of /proc/net/if_inet6 are address, interface, prefix, scope (00: global), flags, name.
bool has_global_ipv6(const std::string& interfaces) {
  std::istringstream lines(interfaces);
  for (std::string address, index, prefix, scope, flags, name;
       lines >> address >> index >> prefix >> scope >> flags >> name;) {
    if (scope == "00" && name != "lo") return true;
  }
  return false;
}

}  // namespace

Finding check_port(const SystemTree& system, const PortTrial& trial) {
  const std::string title = trial.port == 0 ? "port" : fmt::format("port {}", trial.port);
  const std::string where = trial.host.empty() ? "" : " on " + trial.host;
  switch (trial.error) {
    case 0:
      return {Level::ok, title,
              (trial.port == 0 ? "the kernel chooses a free one" : "free, and open to this user") +
                  where,
              ""};
    case EADDRINUSE:
      return {Level::problem, title,
              fmt::format("in use{}{}", where, by(owner_of(system, trial.port))),
              "stop that program, or choose another port with --port"};
    case EACCES: {
      const auto first =
          read_number(fs::path(system.proc) / "sys/net/ipv4/ip_unprivileged_port_start");
      if (trial.port >= first.value_or(1024)) {
        return {Level::problem, title, "a security module of the kernel keeps this user from it",
                "allow it there (SELinux, AppArmor), or choose another with --port"};
      }
      return {Level::problem, title,
              fmt::format("this user may not listen on ports below {}", first.value_or(1024)),
              privilege_remedy(system)};
    }
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
      return {Level::problem, title,
              trial.host.empty() ? "this machine has neither IPv4 nor IPv6"
                                 : trial.host + " is not an address of this machine",
              trial.host.empty() ? "give it a network" : "choose another with --host"};
    default:  // ENOBUFS, ENOMEM, EMFILE and what security modules return
      return {Level::problem, title,
              fmt::format("can't listen{}: {}", where, std::strerror(trial.error)), ""};
  }
}

Finding check_usual_ports(const SystemTree& system, const std::vector<PortTrial>& trials) {
  std::string text;
  for (const PortTrial& trial : trials) {
    const std::string state = trial.error == 0        ? "is free"
                              : trial.error == EACCES ? "needs a privilege"
                              : trial.error == EADDRINUSE
                                  ? "is in use" + by(owner_of(system, trial.port))
                                  : std::string("can't be used: ") + std::strerror(trial.error);
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", trial.port, state);
  }
  return {Level::ok, "other ports", std::move(text), ""};
}

Finding check_backlog(const SystemTree& system) {
  constexpr std::uint64_t wanted = net::backlog_max;
  const auto allowed = read_number(fs::path(system.proc) / "sys/net/core/somaxconn");
  const std::string meaning = "new clients may wait to be accepted";
  if (!allowed) return {Level::ok, "queue", "its limit is not known here", ""};
  if (*allowed >= wanted) {
    return {Level::ok, "queue", fmt::format("{} {}", grouped(wanted), meaning), ""};
  }
  return {Level::note, "queue",
          fmt::format("{} {}, of {} that the server asks for; in a rush more are turned away",
                      grouped(*allowed), meaning, grouped(wanted)),
          fmt::format("sudo sysctl net.core.somaxconn={}", wanted)};
}

Finding check_ipv6(const SystemTree& system) {
  const fs::path proc(system.proc);
  std::error_code failure;
  const bool present = fs::exists(proc / "net/if_inet6", failure);
  const auto disabled = read_number(proc / "sys/net/ipv6/conf/all/disable_ipv6");
  if (!present || disabled == 1U) {
    return {Level::note, "IPv6",
            present ? "turned off; clients reach this machine by IPv4 only"
                    : "the kernel does not have it; clients reach this machine by IPv4 only",
            present ? "sudo sysctl net.ipv6.conf.all.disable_ipv6=0"
                    : "start the kernel without ipv6.disable=1, if you want IPv6"};
  }
  const bool global = has_global_ipv6(read_small(proc / "net/if_inet6"));
  return {Level::ok, "IPv6",
          global ? "available, beside IPv4"
                 : "available, but no address is public: other networks reach this machine by IPv4",
          ""};
}

}  // namespace h2server::app
