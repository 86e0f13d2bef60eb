#include "app/upgrade.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/options/options.h"
#include "app/system/numbers.h"
#include "app/system/pid_file.h"
#include "base/clock.h"

extern char** environ;  // NOLINT: POSIX declares no header for it

namespace h2server::app {

namespace {

constexpr const char* listeners_variable = "H2SERVER_LISTENERS";
constexpr const char* ready_variable = "H2SERVER_READY";

bool inherit(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFD);
  return flags >= 0 && ::fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC) == 0;
}

// "5,6m *:8443"
std::string inherited_line(const ListeningSockets::Inherited& one) {
  return fmt::format("{}{} {}\n", fmt::join(one.descriptors, ","), one.managed ? "m" : "",
                     one.name);
}

// Returns false for what no predecessor writes.
bool read_inherited(std::string_view line, ListeningSockets::Inherited& one) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return false;
  one.name = line.substr(space + 1);
  std::string_view numbers = line.substr(0, space);
  one.managed = numbers.ends_with('m');
  if (one.managed) numbers.remove_suffix(1);
  while (!numbers.empty()) {
    const std::string_view number = numbers.substr(0, numbers.find(','));
    numbers.remove_prefix(std::min(number.size() + 1, numbers.size()));
    int descriptor = -1;
    if (!read_number(number, descriptor) || !inherit(descriptor)) return false;
    one.descriptors.push_back(descriptor);
  }
  return !one.descriptors.empty();
}

// The environment without what a predecessor or a service manager has told this process alone.
std::vector<std::string> own_environment() {
  std::vector<std::string> list;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text = *one;
    const std::string_view name = text.substr(0, text.find('='));
    const bool stays = name != "LISTEN_PID" && name != "LISTEN_FDS" && name != "LISTEN_FDNAMES" &&
                       name != "WATCHDOG_PID" && name != listeners_variable &&
                       name != ready_variable;
    if (stays) list.emplace_back(text);
  }
  return list;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Of posix_spawn; its functions fail for lack of memory only, which ends the program.
class Spawning {
 public:
  Spawning() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
  }
  Spawning(const Spawning&) = delete;
  Spawning& operator=(const Spawning&) = delete;
  ~Spawning() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  // A copy onto itself lets the descriptor stay open.
  void pass(int descriptor) {
    ::posix_spawn_file_actions_adddup2(&actions_, descriptor, descriptor);
  }
  // Returns an errno value.
  int run(pid_t& process, const std::string& path, std::vector<std::string> words,
          std::vector<std::string> environment) {
    return ::posix_spawn(&process, path.c_str(), &actions_, &attributes_, pointers_to(words).data(),
                         pointers_to(environment).data());
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

// Returns true if the process blocks SIGUSR2, as this program does from its start, to read it from
// a signalfd. The signal's default action would end another program: the file may be stale, and its
// number that of any process.
bool blocks_upgrade_signal(pid_t process) {
  constexpr std::string_view name = "SigBlk:\t";  // proc(5): of the main thread, in hexadecimal
  std::ifstream status(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(name)) continue;
    std::uint64_t signals = 0;
    std::from_chars(line.data() + name.size(), line.data() + line.size(), signals, 16);
    return (signals >> (SIGUSR2 - 1) & 1) != 0;
  }
  return false;
}

// The process was signalled. Returns what became of that once its pid file tells.
Stop wait_for_successor(const std::string& file, const PidFile::Content& before) {
  const auto unknown = [&](std::string_view why) {
    return Stop{exit_failed, fmt::format("it is unknown whether a successor of {} serves: {}",
                                         before.process, why)};
  };
  constexpr std::int64_t wait_ms = 70'000;  // longer than the program waits for its successor
  constexpr int pause_ms = 20;
  for (const std::int64_t until_ms = base::monotonic_ms() + wait_ms;
       base::monotonic_ms() < until_ms; ::poll(nullptr, 0, pause_ms)) {
    // Before the file is read: the process may change it and end meanwhile.
    const bool ended = ::kill(before.process, 0) != 0;
    const Result<PidFile::Content, std::string> now = PidFile::read(file);
    if (!now) return unknown(now.error());  // also if the new configuration names another file
    // Written anew by the successor, or by the program that goes on since that failed.
    if (now->inode != before.inode && now->process == before.process) {
      return {exit_failed, fmt::format("{} goes on: its successor did not start, its log says why",
                                       before.process)};
    }
    if (now->inode != before.inode) {
      return {0, fmt::format("{} serves in place of {}, which ends with its last request\n",
                             now->process, before.process)};
    }
    if (ended) return unknown("it has ended, and left its pid file behind");
  }
  return unknown("it has not answered");
}

}  // namespace

ProgramStart program_start(int argc, char** argv) {
  ProgramStart start{.path = {}, .words = {argv, argv + argc}};
  std::error_code failure;
  // What was named, since a new version may come by way of a link.
  const bool named = argc > 0 && std::strchr(argv[0], '/') != nullptr;
  const auto path = named ? std::filesystem::absolute(argv[0], failure)
                          : std::filesystem::read_symlink("/proc/self/exe", failure);
  if (!failure) start.path = path.string();
  return start;
}

Result<Successor, std::string> start_successor(
    const ProgramStart& program, const std::vector<ListeningSockets::Inherited>& all) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return std::unexpected(fmt::format("can't make a pipe: {}", std::strerror(errno)));
  }
  Successor successor{.process = -1, .ready = base::Fd(ends[0])};
  const base::Fd told(ends[1]);
  Spawning spawning;
  spawning.pass(told.get());
  std::string lines;
  for (const ListeningSockets::Inherited& one : all) {
    lines += inherited_line(one);
    for (const int descriptor : one.descriptors) spawning.pass(descriptor);
  }
  std::vector<std::string> environment = own_environment();
  environment.push_back(fmt::format("{}={}", listeners_variable, lines));
  environment.push_back(fmt::format("{}={}", ready_variable, told.get()));
  const int error =
      spawning.run(successor.process, program.path, program.words, std::move(environment));
  if (error == 0) return successor;
  return std::unexpected(fmt::format("can't start {}: {}", program.path, std::strerror(error)));
}

bool has_succeeded(const Successor& successor) {
  pollfd ready{.fd = successor.ready.get(), .events = POLLIN, .revents = 0};
  char byte = 0;
  if (::poll(&ready, 1, 0) == 1 && ::read(successor.ready.get(), &byte, 1) == 1) return true;
  ::kill(successor.process, SIGKILL);
  while (::waitpid(successor.process, nullptr, 0) < 0 && errno == EINTR) {
  }
  return false;
}

void Inheritance::tell_ready() noexcept {
  if (!ready.valid()) return;
  static_cast<void>(::write(ready.get(), "1", 1));  // a predecessor that is gone needs no answer
  ready.close();
}

Result<Inheritance, std::string> take_inheritance() {
  Inheritance taken;
  const char* const lines = std::getenv(listeners_variable);
  const char* const ready = std::getenv(ready_variable);
  if (lines == nullptr || ready == nullptr) return taken;
  int descriptor = -1;
  bool right = read_number(std::string_view(ready), descriptor) && inherit(descriptor);
  if (right) taken.ready = base::Fd(descriptor);
  for (std::string_view rest = lines; right && !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    right = read_inherited(line, taken.listeners.emplace_back());
  }
  ::unsetenv(listeners_variable);
  ::unsetenv(ready_variable);
  if (right) return taken;
  return std::unexpected(fmt::format("{} and {} do not name listening sockets: they are set by a "
                                     "program that starts its successor",
                                     listeners_variable, ready_variable));
}

int run_upgrade(int argc, char** argv) {
  if (argc != 2) {
    return report({exit_wrong_use, "h2server upgrade takes the file that --pid-file names"});
  }
  const std::string file = argv[1];
  const Result<PidFile::Content, std::string> before = PidFile::read(file);
  if (!before) return report({exit_failed, before.error()});
  const pid_t process = before->process;
  if (::kill(process, 0) == 0 && !blocks_upgrade_signal(process)) {
    return report(
        {exit_failed, fmt::format("the process {} of {} is no server that can be upgraded: "
                                  "SIGUSR2 would end it, so it was not sent",
                                  process, file)});
  }
  if (::kill(process, SIGUSR2) != 0) {
    return report({exit_failed, fmt::format("can't signal the process {} of {}: {}", process, file,
                                            std::strerror(errno))});
  }
  return report(wait_for_successor(file, *before));
}

}  // namespace h2server::app
