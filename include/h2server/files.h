// Files: a handler that serves the files below a directory.
//
//   server.get("/static/{path...}", Files("./www"));
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "h2server/handler.h"

namespace h2server::file {
class Folder;
}
namespace h2server::http {
class MediaTypes;
}

#pragma GCC visibility push(default)
namespace h2server {

struct FilesOptions {
  // How long what was found in the file system is used without another look. 0: never.
  std::chrono::milliseconds fresh{1000};
  // Files that stand for their directory; the first one that exists.
  std::vector<std::string> index = {"index.html"};
  // Lists a directory without such a file: a page, or JSON for clients that prefer it.
  bool listing = false;
  // Sends a directory as an archive, with all below it: ?archive=zip and ?archive=tar.
  bool archives = false;
  // Also what has a path with a name that begins with "."; otherwise 404, but for /.well-known/
  // (RFC 8615).
  bool hidden = false;
  // Sends text and the like in a coding that the client accepts (Accept-Encoding): NAME.zst,
  // NAME.br or NAME.gz beside the file, unless that is older, or a copy that the server makes once.
  // Needs a library that was built with compression.
  bool compress = true;
  // Served with 200 in place of what is missing, such as "index.html" of a page that draws all
  // paths itself, if the client asks for HTML (Accept). Empty: 404.
  std::string fallback = {};
  // Media types (Content-Type) by the extensions of files, in front of the library's own:
  //
  //   .types = {{"gcode", "text/plain; charset=utf-8"}, {"md", "text/plain; charset=utf-8"}}
  //
  // An extension is what follows the last dot of a name, in any case.
  std::map<std::string, std::string> types = {};
};

// For a pattern with the rest parameter "path". Answers preconditions and Range, and keeps files in
// the process's cache. Neither ".." nor a link leads out of the directory. With "?download",
// browsers save a file instead of showing it (Content-Disposition).
class Files {
 public:
  // Throws std::system_error if the directory can't be opened, std::invalid_argument for an
  // extension or a media type that is none.
  explicit Files(const std::string& directory, const FilesOptions& options = {});
  // For the library itself: a folder that was opened for these options and types, which take the
  // place of those of the options. Neither is null.
  Files(std::shared_ptr<const file::Folder> folder, FilesOptions options,
        std::shared_ptr<const http::MediaTypes> types) noexcept;

  operator Handler() const;  // NOLINT: implicit on purpose

 private:
  std::shared_ptr<const file::Folder> folder_;
  FilesOptions options_;
  std::shared_ptr<const http::MediaTypes> types_;
};

}  // namespace h2server
#pragma GCC visibility pop
