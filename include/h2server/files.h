// Files: a handler that serves the files below a directory.
//
//   server.get("/static/{path...}", Files("./www"));
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "h2server/handler.h"

namespace h2server::file {
class Folder;
}

#pragma GCC visibility push(default)
namespace h2server {

struct FilesOptions {
  // How long what was found in the file system is used without another look. 0: never.
  std::chrono::milliseconds fresh{1000};
};

// For a pattern with the rest parameter "path". Serves index.html for a directory, answers
// preconditions and Range, and keeps files in the process's cache. Neither ".." nor a link leads
// out of the directory.
class Files {
 public:
  // Throws std::system_error if the directory can't be opened.
  explicit Files(const std::string& directory, const FilesOptions& options = {});
  // For the library itself. Not null.
  explicit Files(std::shared_ptr<const file::Folder> folder) noexcept;

  operator Handler() const;  // NOLINT: implicit on purpose

 private:
  std::shared_ptr<const file::Folder> folder_;
};

}  // namespace h2server
#pragma GCC visibility pop
