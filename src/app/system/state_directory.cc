#include "app/system/state_directory.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "net/certs/new_file.h"

namespace h2server::app {

namespace {

// Returns an absolute path, or an empty string. The specification ignores relative ones.
std::string directory_in(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && value[0] == '/' ? value : "";
}

std::string home_of_entry() {
  std::array<char, 4096> room{};
  passwd entry{};
  passwd* found = nullptr;
  const int error = ::getpwuid_r(::geteuid(), &entry, room.data(), room.size(), &found);
  if (error != 0 || found == nullptr) return {};
  // Users of services have one of these.
  const std::string_view home = entry.pw_dir;
  return home.starts_with('/') && home != "/" && home != "/nonexistent" ? std::string(home) : "";
}

}  // namespace

std::string home_directory() {
  std::string home = directory_in("HOME");
  return home.empty() ? home_of_entry() : home;
}

Result<std::string, std::string> state_directory_name() {
  const std::string state = directory_in("XDG_STATE_HOME");
  if (!state.empty()) return state + "/h2server";
  const std::string home = home_directory();
  if (!home.empty()) return home + "/.local/state/h2server";
  return std::unexpected(
      std::string("there is no home directory to keep certificates in; set XDG_STATE_HOME "
                  "to an absolute path"));
}

Result<std::string, std::string> state_directory() {
  Result<std::string, std::string> name = state_directory_name();
  const int error = name ? net::make_private_folder(*name) : 0;
  if (error == 0) return name;
  return std::unexpected(fmt::format("can't write to {}: {}; set XDG_STATE_HOME to a directory of "
                                     "this user",
                                     *name, std::strerror(error)));
}

}  // namespace h2server::app
