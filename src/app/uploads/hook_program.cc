#include "app/uploads/hook_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/fd.h"

namespace h2server::app {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How the program is started.
class Start {
 public:
  Start() {
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_init(&actions_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);  // the server ignores SIGPIPE
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    keep(::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0));
    keep(::posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0));
    // All of ours are closed on exec already; this is for those that the server inherited.
    keep(::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1));
  }
  Start(const Start&) = delete;
  Start& operator=(const Start&) = delete;
  ~Start() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  // Returns the process, or an errno value.
  [[nodiscard]] Result<pid_t, int> run(std::vector<char*>& arguments,
                                       std::vector<char*>& environment) const {
    if (error_ != 0) return std::unexpected(error_);
    pid_t child = 0;
    const int error = ::posix_spawn(&child, arguments[0], &actions_, &attributes_, arguments.data(),
                                    environment.data());
    if (error != 0) return std::unexpected(error);
    return child;
  }

 private:
  void keep(int error) {
    if (error != 0) error_ = error;  // ENOMEM
  }

  posix_spawnattr_t attributes_{};
  posix_spawn_file_actions_t actions_{};
  int error_ = 0;
};

// Variables that are given again replace those of this process.
std::vector<char*> with_environment(const std::vector<std::string>& own) {
  std::vector<char*> all;
  for (const std::string& variable : own) all.push_back(const_cast<char*>(variable.c_str()));
  for (char** inherited = environ; *inherited != nullptr; ++inherited) {
    const std::string_view variable = *inherited;
    const std::string_view begin = variable.substr(0, variable.find('=') + 1);
    const auto replaces = [begin](const std::string& one) { return one.starts_with(begin); };
    if (std::ranges::none_of(own, replaces)) all.push_back(*inherited);
  }
  all.push_back(nullptr);
  return all;
}

// Returns false if it still runs at the end. `process` is a pidfd, readable once it has ended.
bool wait_until(int process, int wake, const std::function<steady_clock::time_point()>& end) {
  bool watches = true;  // `wake` stays readable once it is
  for (;;) {
    const auto rest = std::chrono::ceil<milliseconds>(end() - steady_clock::now());
    if (rest <= milliseconds(0)) return false;
    std::array<pollfd, 2> watched{{{process, POLLIN, 0}, {watches ? wake : -1, POLLIN, 0}}};
    const auto wait_ms = std::min<std::int64_t>(rest.count(), 3'600'000);
    if (::poll(watched.data(), watched.size(), static_cast<int>(wait_ms)) < 0) continue;  // EINTR
    if (watched[0].revents != 0) return true;
    if (watched[1].revents != 0) watches = false;
  }
}

}  // namespace

Result<void, std::string> run_hook_program(const HookProgram& program, int wake,
                                           const std::function<steady_clock::time_point()>& end) {
  std::vector<char*> words;
  for (const std::string& word : program.arguments)
    words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::vector<char*> environment = with_environment(program.environment);
  const Start start;
  const Result<pid_t, int> child = start.run(words, environment);
  if (!child) return std::unexpected(std::string(std::strerror(child.error())));
  // Its number is its own until waitpid() below. Without a pidfd (EMFILE) there is no time limit.
  const base::Fd process(static_cast<int>(::syscall(SYS_pidfd_open, *child, 0)));
  const bool ended = !process.valid() || wait_until(process.get(), wake, end);
  if (!ended) ::kill(-*child, SIGKILL);
  int status = 0;
  while (::waitpid(*child, &status, 0) < 0) {
    // ECHILD: who started this program ignores SIGCHLD, so the status is lost.
    if (errno != EINTR) return std::unexpected(std::string("its exit status is lost"));
  }
  if (!ended) return std::unexpected(std::string("no end in time"));
  if (WIFSIGNALED(status)) {
    return std::unexpected(fmt::format("ended by signal {}", WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) != 0) {
    return std::unexpected(fmt::format("exit status {}", WEXITSTATUS(status)));
  }
  return {};
}

}  // namespace h2server::app
