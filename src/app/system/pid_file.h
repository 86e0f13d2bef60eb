// PidFile: holds the id of the process that serves, for programs that signal it.
#pragma once

#include <sys/types.h>

#include <string>

#include "h2server/result.h"

namespace h2server::app {

class PidFile {
 public:
  struct Content {
    pid_t process = 0;
    ino_t inode = 0;  // another one each time the file is written
  };
  // The error is a line for the operator.
  static Result<Content, std::string> read(const std::string& path);

  PidFile() = default;
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;
  ~PidFile();

  // Writes this process's id, in place of what is there. Then removes the file that it wrote
  // before, if that is another one. The error is a line for the operator; the file from before then
  // stays.
  Result<void, std::string> write(const std::string& path);
  // Removes the file if it still has this process's id.
  void remove() noexcept;

 private:
  std::string path_;  // absolute; empty: nothing was written
};

}  // namespace h2server::app
