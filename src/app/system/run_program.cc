#include "app/system/run_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace h2server::app {

namespace {

bool is_program(const std::string& path) {
  struct stat now{};
  return ::stat(path.c_str(), &now) == 0 && S_ISREG(now.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

std::string shell_quoted(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=+@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'') text += "'\\''";
    else text += c;
  }
  return text + "'";
}

// Which descriptors the program gets.
class Descriptors {
 public:
  explicit Descriptors(Output output) {
    ::posix_spawn_file_actions_init(&actions_);
    add(STDIN_FILENO, O_RDONLY);
    if (output == Output::shown) return;
    add(STDOUT_FILENO, O_WRONLY);
    add(STDERR_FILENO, O_WRONLY);
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;
  ~Descriptors() { ::posix_spawn_file_actions_destroy(&actions_); }

  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }
  [[nodiscard]] int error() const { return error_; }

 private:
  void add(int descriptor, int flags) {
    const int error =
        ::posix_spawn_file_actions_addopen(&actions_, descriptor, "/dev/null", flags, 0);
    if (error != 0) error_ = error;  // ENOMEM
  }

  posix_spawn_file_actions_t actions_{};
  int error_ = 0;
};

}  // namespace

std::optional<std::string> find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  const std::string folders = std::string(path != nullptr ? path : "") + ":/usr/sbin:/sbin";
  for (std::size_t begin = 0; begin < folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string folder = folders.substr(begin, end - begin);
    // A relative folder would run what happens to lie in the current one.
    if (folder.starts_with('/') && is_program(folder + "/" + name)) return folder + "/" + name;
    begin = end + 1;
  }
  return std::nullopt;
}

Result<int, int> run_program(const std::vector<std::string>& arguments, Output output) {
  std::vector<char*> words;
  for (const std::string& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  const Descriptors descriptors(output);
  if (descriptors.error() != 0) return std::unexpected(descriptors.error());
  pid_t child = 0;
  const int error =
      ::posix_spawn(&child, words[0], descriptors.get(), nullptr, words.data(), environ);
  if (error != 0) return std::unexpected(error);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    // ECHILD: who started this program ignores SIGCHLD, so the status is lost.
    if (errno != EINTR) return std::unexpected(errno);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string command_line(const std::vector<std::string>& arguments) {
  std::string line;
  for (const std::string& argument : arguments)
    line += (line.empty() ? "" : " ") + shell_quoted(argument);
  return line;
}

}  // namespace h2server::app
