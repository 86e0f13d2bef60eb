#include "net/socket_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "net/certs/folder_lock.h"

namespace h2server::net {

namespace {

std::unexpected<std::string> failure(const std::string& path, int error) {
  return std::unexpected(fmt::format("can't listen on {}: {}", path, std::strerror(error)));
}

Result<sockaddr_un, std::string> file_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // Linux needs no terminating zero, but other programs do.
  if (path.size() >= sizeof address.sun_path || path.find('\0') != std::string::npos) {
    return std::unexpected(fmt::format("{} can't be the path of a Unix socket: that has at most {} "
                                       "bytes",
                                       path, sizeof address.sun_path - 1));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int bind_to(int socket, const sockaddr_un& address) {
  const auto* const plain = reinterpret_cast<const sockaddr*>(&address);
  return ::bind(socket, plain, sizeof address) == 0 ? 0 : errno;
}

// Returns 0 if a server listens there, or why a client can't connect.
int try_to_connect(const sockaddr_un& address) {
  const base::Fd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!client.valid()) return errno;
  const auto* const plain = reinterpret_cast<const sockaddr*>(&address);
  return ::connect(client.get(), plain, sizeof address) == 0 ? 0 : errno;
}

// Removes the file that is in the way, if no server listens on it.
Result<void, std::string> remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return {};  // its server has just ended
    return failure(path, errno);
  }
  if (!S_ISSOCK(found.st_mode)) {
    return std::unexpected(fmt::format("{} exists and is no socket: choose another path", path));
  }
  const int error = try_to_connect(address);
  switch (error) {
    case 0:
    case EAGAIN:      // the listener's backlog is full
    case EPROTOTYPE:  // it is no stream socket
      return std::unexpected(fmt::format("{} is in use: stop the program that listens there or "
                                         "choose another path",
                                         path));
    case ECONNREFUSED:
      break;
    case ENOENT:
      return {};
    default:
      return failure(path, error);
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failure(path, errno);
  return {};
}

}  // namespace

Result<SocketFile, std::string> SocketFile::listen(int socket, const std::string& path,
                                                   unsigned mode, int backlog) {
  const Result<sockaddr_un, std::string> address = file_address(path);
  if (!address) return std::unexpected(address.error());
  SocketFile made;
  // Until listen(), the new socket looks like one without a server. Declared after `made`: the lock
  // must be released before ~SocketFile takes it again.
  const base::Fd lock = lock_folder_of(path);
  int error = bind_to(socket, *address);
  if (error == EADDRINUSE) {
    const Result<void, std::string> removed = remove_stale(path, *address);
    if (!removed) return std::unexpected(removed.error());
    error = bind_to(socket, *address);
  }
  if (error != 0) return failure(path, error);
  made.hold(path);
  if (!made.file_.valid()) {
    error = errno;
    ::unlink(path.c_str());
    return failure(path, error);
  }
  if (mode != 0 && ::chmod(path.c_str(), mode) != 0) return failure(path, errno);
  if (::listen(socket, backlog) != 0) return failure(path, errno);
  return made;
}

SocketFile SocketFile::take_over(const std::string& path) {
  SocketFile file;
  file.hold(path);
  return file;
}

void SocketFile::hold(const std::string& path) {
  std::error_code ignored;  // without a working directory the file stays when the server ends
  path_ = std::filesystem::absolute(path, ignored).string();
  file_ = base::Fd(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

SocketFile::~SocketFile() {
  if (!file_.valid()) return;
  const base::Fd lock = lock_folder_of(path_);
  struct stat own{};
  struct stat found{};
  if (::fstat(file_.get(), &own) != 0 || ::lstat(path_.c_str(), &found) != 0) return;
  if (own.st_dev == found.st_dev && own.st_ino == found.st_ino) ::unlink(path_.c_str());
}

}  // namespace h2server::net
