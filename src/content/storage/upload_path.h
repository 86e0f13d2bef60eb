// Paths of uploads below their directory, made from what clients name.
//
// Any thread. What takes a descriptor may block on the disk. Errors are errno values.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "h2server/result.h"

namespace h2server::content {

struct UploadPathLimits {
  static constexpr std::size_t bytes_max = 4000;   // PATH_MAX of Linux is 4096
  static constexpr std::size_t segments_max = 64;  // each folder is opened by itself
};

// Returns a safe path from one that a client sent, percent-decoded: a base name or, if `folders`,
// segments joined by '/'. Each is as safe_file_name() makes it. Returns nullopt if nothing safe is
// left. Of a path with several segments, none may be empty, "..", or a hidden or temporary file's.
std::optional<std::string> safe_upload_path(std::string_view claimed, bool folders);

// Returns the folder of a path, "" for what lies in the upload directory itself.
std::string_view folder_of(std::string_view path) noexcept;

// Returns true if `path` is `folder` or lies below it, as all paths do if that is empty.
bool is_at_or_below(std::string_view path, std::string_view folder) noexcept;

// The folder of a file, and the file's name in it.
struct UploadParent {
  base::Fd directory;
  std::string name;
  std::vector<std::string> made = {};  // paths of the folders that were made, the outermost first
};

// Opens the folder of `path`, a safe path, beneath `directory`. Follows no links. Makes folders
// that are missing if `create`; if it fails, they are removed again. The descriptor is an O_PATH
// one. Fails with ENOENT if a folder is missing, and with ENOTDIR if something else has its name.
Result<UploadParent, int> open_upload_parent(int directory, const std::string& path, bool create);

// Removes the folders of `made` that are empty, the last one first.
void remove_made_folders(int directory, const std::vector<std::string>& made) noexcept;

}  // namespace h2server::content
