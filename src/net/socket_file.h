// SocketFile: owns the file of a Unix socket, and removes it.
#pragma once

#include <string>
#include <utility>

#include "base/fd.h"
#include "h2server/result.h"

namespace h2server::net {

class SocketFile {
 public:
  // Binds `socket` to a file of that path, and gives it `mode` (0: as the umask allows). A socket
  // file without a listener, left by a server that was killed, is replaced. A file of another kind
  // and a live socket are errors. Then calls listen(). Servers that do this at the same time wait
  // for each other. The error is a line for the operator.
  static Result<SocketFile, std::string> listen(int socket, const std::string& path, unsigned mode,
                                                int backlog);

  // Takes over the file of a socket that listens at `path`.
  static SocketFile take_over(const std::string& path);

  SocketFile() = default;
  SocketFile(SocketFile&& other) noexcept = default;
  SocketFile& operator=(SocketFile&& other) = delete;
  // Removes the file, unless another server has replaced it.
  ~SocketFile();

  // Leaves the file to another program, which listens on its socket.
  void leave() noexcept { file_.close(); }

 private:
  void hold(const std::string& path);

  std::string path_;  // absolute
  base::Fd file_;     // keeps the inode's number from being reused, so that a new file differs
};

}  // namespace h2server::net
