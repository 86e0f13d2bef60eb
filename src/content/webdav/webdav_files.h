// Files and folders of an upload directory as WebDAV names them: by a path below it, without
// slashes at its ends and without links. Temporary and hidden names do not exist here.
//
// Any thread. What takes a descriptor may block on the disk. Errors are errno values.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "file/content.h"
#include "h2server/result.h"

namespace h2server::content {

// Returns true if entries with that name are shown: it is neither hidden nor a temporary file's.
bool is_visible_name(std::string_view name) noexcept;
// Returns true if each segment is a visible name. An empty path is the directory itself.
bool is_visible_path(std::string_view path) noexcept;
// Returns true if something may be made at that path: all its names are as safe_file_name() makes
// them.
bool is_safe_path(std::string_view path);
// Returns how many folders lie above.
unsigned depth_of(std::string_view path) noexcept;

struct PathParts {
  std::string folder;  // empty: the directory itself
  std::string name;
};
// `path` must not be empty.
PathParts split_path(std::string_view path);

struct FileState {
  bool is_folder = false;
  std::int64_t created_s = 0;  // since 1970; the time of the last change if that is not known
  file::FileVersion version = {};
};

// As openat(2), but no link is followed and nothing leads out of `root`.
Result<base::Fd, int> open_below(int root, const std::string& path, int flags);
// Returns the state of an entry of `folder`, or ENOENT if it is neither a regular file nor a
// folder.
Result<FileState, int> look_at(int folder, const std::string& name);
Result<FileState, int> look_at_path(int root, const std::string& path);

// Returns the entity tag that downloads of the version have.
std::string entity_tag(const file::FileVersion& version);

// Returns the status of the response to an errno value of a call on a path.
int status_of_error(int error) noexcept;

}  // namespace h2server::content
