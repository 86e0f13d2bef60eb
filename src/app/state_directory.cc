#include "app/state_directory.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace h2server::app {

namespace {

// The specification has relative paths ignored.
std::string absolute_path_in(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value == '/' ? value : "";
}

}  // namespace

std::string home_directory() {
  std::string home = absolute_path_in("HOME");
  if (!home.empty()) return home;
  const passwd* const user = ::getpwuid(::geteuid());
  return user != nullptr && *user->pw_dir == '/' ? user->pw_dir : "";
}

Result<std::string, std::string> state_directory() {
  std::string base = absolute_path_in("XDG_STATE_HOME");
  if (base.empty()) {
    const std::string home = home_directory();
    if (home.empty()) return std::unexpected(std::string("there is no home directory"));
    base = home + "/.local/state";
  }
  const std::string directory = base + "/h2server";
  std::error_code failure;
  std::filesystem::create_directories(base, failure);
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return std::unexpected(fmt::format("can't make {}: {}", directory, std::strerror(errno)));
  }
  if (::access(directory.c_str(), W_OK | X_OK) != 0) {
    return std::unexpected(fmt::format("can't write to {}: {}", directory, std::strerror(errno)));
  }
  return directory;
}

}  // namespace h2server::app
