#include "app/system/service_manager.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "app/system/numbers.h"
#include "app/system/terminal.h"
#include "base/clock.h"
#include "base/log.h"

namespace h2server::app {

namespace {

// Returns true if it names this process, or if nothing was passed to a certain one.
bool is_for_this_process(std::string_view process) {
  pid_t number = 0;
  return process.empty() || (read_number(process, number) && number == ::getpid());
}

// "/run/…", or "@…" for an abstract socket. Returns an empty text for all else, such as vsock.
std::string socket_address(std::string_view text) {
  if (text.size() < 2 || text.size() >= sizeof(sockaddr_un::sun_path)) return {};
  if (text.front() == '@') return std::string(1, '\0').append(text.substr(1));
  return text.front() == '/' ? std::string(text) : std::string();
}

base::Fd open_socket() {
  base::Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  // Signals wait while the service manager reads nothing.
  constexpr timeval patience{.tv_sec = 1, .tv_usec = 0};
  if (socket.valid()) {
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  }
  return socket;
}

// A message has one assignment a line.
std::string line(std::string_view name, std::string_view value) {
  std::string text = fmt::format("{}={}\n", name, value);
  std::replace(text.begin(), std::prev(text.end()), '\n', ' ');
  return text;
}

}  // namespace

ServiceManager::ServiceManager() : address_(socket_address(variable("NOTIFY_SOCKET"))) {
  if (address_.empty()) return;
  socket_ = open_socket();
  std::uint64_t limit_us = 0;
  if (!is_for_this_process(variable("WATCHDOG_PID"))) return;
  if (!read_number(variable("WATCHDOG_USEC"), limit_us) || limit_us == 0) return;
  // Half of the limit, as sd_watchdog_enabled(3) advises; a day at most, which poll() can wait.
  constexpr std::uint64_t longest_ms = 24 * 3600 * 1000;
  watchdog_ms_ =
      static_cast<std::int64_t>(std::clamp<std::uint64_t>(limit_us / 2000, 1, longest_ms));
}

void ServiceManager::ready(std::string_view status) { send("READY=1\n" + line("STATUS", status)); }

void ServiceManager::reloading() {
  send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS=reads its configuration anew\n",
                   base::monotonic_us()));
}

void ServiceManager::stopping(std::string_view status, std::chrono::milliseconds limit) {
  const std::chrono::microseconds limit_us = limit;
  send(fmt::format("STOPPING=1\nEXTEND_TIMEOUT_USEC={}\n{}", limit_us.count(),
                   line("STATUS", status)));
}

void ServiceManager::hand_over(pid_t successor) {
  send(fmt::format("MAINPID={}\nREADY=1\nSTATUS=serves as process {}\n", successor, successor));
}

void ServiceManager::alive() {
  if (watchdog_ms_ > 0) send("WATCHDOG=1\n");
}

void ServiceManager::send(std::string_view message) {
  if (address_.empty()) return;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  address_.copy(static_cast<char*>(to.sun_path), address_.size());
  // All of the name counts if it is abstract, and a zero byte ends a path.
  const std::size_t bytes =
      offsetof(sockaddr_un, sun_path) + address_.size() + (address_.front() == '\0' ? 0 : 1);
  ssize_t sent;
  do {
    sent = ::sendto(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL,
                    reinterpret_cast<const sockaddr*>(&to), static_cast<socklen_t>(bytes));
  } while (sent < 0 && errno == EINTR);
  const int error = sent < 0 ? errno : 0;
  // ENOENT, ECONNREFUSED: it is gone. EAGAIN: it reads nothing. EACCES, EPERM: it is another
  // user's. The program serves all the same.
  if (error != 0 && !reported_) {
    base::log_warning("can't tell the service manager at {}: {}", variable("NOTIFY_SOCKET"),
                      std::strerror(error));
  }
  reported_ = error != 0;
}

Result<std::vector<PassedSocket>, std::string> passed_sockets() {
  constexpr int first = 3;  // SD_LISTEN_FDS_START
  constexpr int count_max = 1024;
  std::vector<PassedSocket> all;
  const std::string_view process = variable("LISTEN_PID");
  if (process.empty() || !is_for_this_process(process)) return all;
  int count = 0;
  if (!read_number(variable("LISTEN_FDS"), count) || count < 0 || count > count_max) {
    return std::unexpected(
        fmt::format("LISTEN_FDS is no number of sockets: '{}'", variable("LISTEN_FDS")));
  }
  std::string_view names = variable("LISTEN_FDNAMES");
  for (int descriptor = first; descriptor < first + count; ++descriptor) {
    // EBADF: it is not open.
    if (::fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0) {
      return std::unexpected(fmt::format("LISTEN_FDS is {}, but descriptor {}: {}", count,
                                         descriptor, std::strerror(errno)));
    }
    const std::string_view name = names.substr(0, names.find(':'));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    // systemd's word for a descriptor without a name.
    all.push_back({.descriptor = descriptor, .name = std::string(name == "unknown" ? "" : name)});
  }
  return all;
}

}  // namespace h2server::app
