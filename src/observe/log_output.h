// LogOutput: an open file, pipe, terminal or socket that log lines are written to. It never waits
// for a reader. The log's thread uses it; SIGPIPE must be blocked there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "h2server/result.h"

namespace h2server::observe {

// What several names of one file have in common.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

class LogOutput {
 public:
  LogOutput() = default;

  // `path`: a file, which is made if it is missing and appended to, or a FIFO; "-" for standard
  // output; "syslog" for the datagram socket `syslog_path`. A FIFO fails with ENXIO until it has a
  // reader. Follows symbolic links, such as /dev/stdout.
  static Result<LogOutput> open(const std::string& path, const std::string& syslog_path);

  // Writes the beginning of `lines`, the first of which may be the rest of one. Returns how many
  // bytes were written, or an error: EAGAIN while a pipe or socket is full, ENOSPC, EPIPE and so
  // on.
  Result<std::size_t> write(std::string_view lines) noexcept;

  [[nodiscard]] bool is_open() const noexcept { return file_.valid(); }
  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }
  [[nodiscard]] bool is_regular() const noexcept { return kind_ == Kind::regular; }

  // Regular files: the size.
  [[nodiscard]] std::uint64_t size() const noexcept;
  // Regular files: removes the last `bytes`.
  void cut(std::size_t bytes) noexcept;
  // Returns what a path as that of open() leads to now; nullopt if that is nothing, or syslog.
  static std::optional<FileIdentity> identity_of(const std::string& path) noexcept;
  // Returns true if the file at `path` is not this one: it was renamed or removed.
  [[nodiscard]] bool was_moved(const std::string& path) const noexcept;

 private:
  enum class Kind : std::uint8_t {
    regular,  // never blocks for long
    pipe,     // or a terminal or device; does not block
    waiting,  // as pipe, but it would block: it cannot be opened anew
    stream,   // a socket as standard output
    syslog,   // datagrams of one line each
  };

  static Result<LogOutput> open_standard_output();
  static Result<LogOutput> open_syslog(const std::string& path);
  Result<std::size_t> write_datagrams(std::string_view lines) noexcept;

  Kind kind_ = Kind::regular;
  base::Fd file_;
};

}  // namespace h2server::observe
