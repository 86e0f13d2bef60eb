// The checks of h2server doctor. Each takes what it judges, so that tests can describe any machine:
// a tree of the kernel's files, or values that the caller asked the system for.
//
// A file of the kernel that can't be read is no finding, because containers hide some.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/doctor/doctor.h"

namespace h2server::app {

// Where the kernel's files are. Tests name folders of their own.
struct SystemTree {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string modules = "/lib/modules";
};

// --- kernel: doctor_kernel.cc ---------------------------------------------------------------

// `openat2_error` is that of file::probe_open_beneath().
Finding check_kernel(const SystemTree& system, int openat2_error);

// `obstacle` is that of io::uring_obstacle(): empty if io_uring works here.
Finding check_io_uring(const SystemTree& system, IoEngine wanted, const std::string& obstacle);

// Encryption of TLS in the kernel.
Finding check_ktls(const SystemTree& system);

struct ClockFacts {
  bool known = false;         // adjtimex(2) is allowed here
  bool synchronised = false;  // a time server is followed
  std::int64_t now_s = 0;     // seconds since 1970
};
Finding check_clock(const ClockFacts& clock);

// --- limits: doctor_limits.cc ---------------------------------------------------------------

struct DescriptorFacts {
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;
  unsigned workers = 1;
};
Finding check_descriptors(const DescriptorFacts& limit);

struct ProcessorFacts {
  unsigned online = 1;   // processors of the machine
  unsigned allowed = 1;  // processors_allowed()
  unsigned workers = 1;
  bool event_loops = true;  // the scheme's workers serve many connections each
};
Finding check_processors(const ProcessorFacts& processors);

// The free memory, and memory.max of this process's control groups.
Finding check_memory(const SystemTree& system);

// pids.max of this process's control groups, for `threads` threads or processes. Nullopt if they
// have no such limit.
std::optional<Finding> check_tasks(const SystemTree& system, unsigned threads);

// --- network: doctor_network.cc -------------------------------------------------------------

struct PortTrial {
  std::string host;  // empty: all addresses
  std::uint16_t port = 0;
  int error = 0;  // of net::try_port()
};
Finding check_port(const SystemTree& system, const PortTrial& trial);

// Ports on which web servers usually listen, in one line.
Finding check_usual_ports(const SystemTree& system, const std::vector<PortTrial>& trials);

Finding check_backlog(const SystemTree& system);

Finding check_ipv6(const SystemTree& system);

// --- files: doctor_files.cc -----------------------------------------------------------------

Finding check_certificate(const DoctorInput& input, std::int64_t now_s);

Finding check_key(const DoctorInput& input);

Finding check_root(const DoctorInput& input);

// What statfs(2) tells of a file system.
struct DiskFacts {
  std::uint64_t size = 0;    // bytes; 0: it does not tell
  std::uint64_t free = 0;    // bytes, for users other than root
  std::uint64_t inodes = 0;  // 0: it makes them as needed
  std::uint64_t inodes_free = 0;
  bool read_only = false;
  bool in_memory = false;
};
Finding check_disk(const DiskFacts& disk, const DoctorInput& input);

// check_disk() of the upload directory, after whether it is writable.
Finding check_uploads(const DoctorInput& input);

}  // namespace h2server::app
