#include "observe/log_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <utility>

namespace h2server::observe {

namespace {
constexpr mode_t file_mode = 0640;  // lines name clients
constexpr int open_flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
constexpr int syslog_priority = 23 * 8 + 6;  // RFC 5424, 6.2.1: local7, informational

std::unexpected<Error> failed(std::string_view what) { return std::unexpected(Error{errno, what}); }

Result<std::size_t> written_or_failed(ssize_t written) {
  if (written >= 0) return static_cast<std::size_t>(written);
  return failed("cannot write");
}

// What precedes a message (RFC 3164, 4.1). The time is local, as the receivers expect.
std::string syslog_head() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  constexpr std::string_view names = "JanFebMarAprMayJunJulAugSepOctNovDec";
  return fmt::format("<{}>{} {:2} {:02}:{:02}:{:02} h2server[{}]: ", syslog_priority,
                     names.substr(3 * static_cast<std::size_t>(local.tm_mon), 3), local.tm_mday,
                     local.tm_hour, local.tm_min, local.tm_sec, ::getpid());
}
}  // namespace

Result<LogOutput> LogOutput::open(const std::string& path, const std::string& syslog_path) {
  if (path == "-") return open_standard_output();
  if (path == "syslog") return open_syslog(syslog_path);
  LogOutput output;
  output.file_ = base::Fd(::open(path.c_str(), open_flags | O_CREAT, file_mode));
  struct stat status{};
  if (!output.is_open() || ::fstat(output.descriptor(), &status) != 0) {
    return failed("cannot open the log");
  }
  output.kind_ = S_ISREG(status.st_mode) ? Kind::regular : Kind::pipe;
  return output;
}

Result<LogOutput> LogOutput::open_standard_output() {
  struct stat status{};
  if (::fstat(STDOUT_FILENO, &status) != 0) return failed("cannot use standard output");
  LogOutput output;
  if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) {
    // A new description: O_NONBLOCK on the present one would affect all who share it.
    output.file_ = base::Fd(::open("/proc/self/fd/1", open_flags));
    output.kind_ = Kind::pipe;
    if (output.is_open()) return output;
    output.kind_ = Kind::waiting;  // another user's terminal, or no /proc
  } else {
    // Not opened anew, because other lines on standard output go by the same offset.
    output.kind_ = S_ISSOCK(status.st_mode) ? Kind::stream : Kind::regular;
  }
  output.file_ = base::Fd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  if (!output.is_open()) return failed("cannot use standard output");
  return output;
}

Result<LogOutput> LogOutput::open_syslog(const std::string& path) {
  LogOutput output;
  output.kind_ = Kind::syslog;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return std::unexpected(Error{ENAMETOOLONG, "cannot reach syslog"});
  }
  path.copy(address.sun_path, path.size());
  output.file_ = base::Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!output.is_open() ||
      ::connect(output.descriptor(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
          0) {
    return failed("cannot reach syslog");
  }
  return output;
}

Result<std::size_t> LogOutput::write(std::string_view lines) noexcept {
  switch (kind_) {
    case Kind::regular:
    case Kind::pipe:
      break;
    case Kind::waiting: {
      // POSIX: a pipe that is writable takes PIPE_BUF bytes at once.
      pollfd ready{file_.get(), POLLOUT, 0};
      if (::poll(&ready, 1, 0) <= 0) return std::unexpected(Error{EAGAIN, "cannot write"});
      lines = lines.substr(0, PIPE_BUF);
      break;
    }
    case Kind::stream:
      return written_or_failed(
          ::send(file_.get(), lines.data(), lines.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
    case Kind::syslog:
      return write_datagrams(lines);
  }
  return written_or_failed(::write(file_.get(), lines.data(), lines.size()));
}

Result<std::size_t> LogOutput::write_datagrams(std::string_view lines) noexcept {
  std::string message = syslog_head();
  const std::size_t head = message.size();
  std::size_t written = 0;
  while (written < lines.size()) {
    const std::size_t end = lines.find('\n', written);
    if (end == lines.npos) return lines.size();  // the rest of a line that a file could not take
    message.resize(head);
    message.append(lines.substr(written, end - written));
    const ssize_t sent =
        ::send(file_.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    // Longer than the receiver takes: there is no other way for this line.
    const bool too_long = sent < 0 && errno == EMSGSIZE;
    if (sent < 0 && !too_long) {
      if (written > 0) return written;
      return failed("cannot write");
    }
    written = end + 1;
  }
  return written;
}

std::uint64_t LogOutput::size() const noexcept {
  struct stat status{};
  if (!is_regular() || ::fstat(file_.get(), &status) != 0) return 0;
  return static_cast<std::uint64_t>(status.st_size);
}

void LogOutput::cut(std::size_t bytes) noexcept {
  const std::uint64_t all = size();
  if (all < bytes) return;
  // On failure, half a line stays: nothing else can be done about it.
  [[maybe_unused]] const int result = ::ftruncate(file_.get(), static_cast<off_t>(all - bytes));
}

std::optional<FileIdentity> LogOutput::identity_of(const std::string& path) noexcept {
  struct stat status{};
  if (path == "syslog") return std::nullopt;
  const int result = path == "-" ? ::fstat(STDOUT_FILENO, &status) : ::stat(path.c_str(), &status);
  // Whatever the error: then there is no file that another name could share.
  if (result != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

bool LogOutput::was_moved(const std::string& path) const noexcept {
  struct stat here{};
  struct stat there{};
  if (::fstat(file_.get(), &here) != 0) return false;
  if (::stat(path.c_str(), &there) != 0) return errno == ENOENT;
  return here.st_dev != there.st_dev || here.st_ino != there.st_ino;
}

}  // namespace h2server::observe
