// Changes of trees of files below an upload directory: remove, copy, move, make a folder.
//
// Paths are as in webdav_files.h; those of targets are safe. What is hidden or a link is neither
// removed nor copied, so a folder with it stays. The account of space hears of what was removed and
// added. Any thread; everything here blocks on the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "content/storage/upload_path.h"
#include "content/uploads/area/upload_directory.h"
#include "file/stop_flag.h"
#include "h2server/result.h"
#include "h2server/uploads.h"

namespace h2server::content {

struct TreeLimits {
  // Of folders within each other. What clients make lies no deeper, so it can be removed. Each
  // folder takes up to three descriptors.
  static constexpr unsigned depth_max = UploadPathLimits::segments_max;
  static constexpr std::size_t names_max = 1000;  // of a folder to be removed, in memory at a time
  static constexpr std::size_t failures_max = 1000;  // more are not listed
};

struct TreeFailure {
  std::string path;
  bool is_folder = false;
  int status = 500;
};

// What could not be done; empty: all was. The rest was done nevertheless.
using TreeFailures = std::vector<TreeFailure>;

// Removes the file or the folder with all that is in it. Once `stop` is set, what is left stays.
TreeFailures remove_tree(UploadDirectory& directory, const std::string& path,
                         const file::StopFlag* stop = nullptr);

// What a copy or a move has done.
struct TreeOutcome {
  enum class Replaced : std::uint8_t {
    nothing,
    file,  // by a file
    tree,  // something by a folder, or a folder by something: all that was there is gone
  };
  Replaced replaced = Replaced::nothing;
  TreeFailures failures = {};
  std::uint64_t bytes = 0;  // of files that a copy has made
};

struct CopyOptions {
  bool shallow = false;  // a folder without what is in it
  bool replace = false;  // what is at `to`; otherwise that is refused with 412
  const UploadOptions& uploads;
  const file::StopFlag* stop = nullptr;  // once it is set, nothing is copied any more
  // Called with how many bytes will be copied, and again with what has come since. 413 if it
  // returns false.
  std::function<bool(std::uint64_t bytes)> charge = {};
};
// Makes the copy under another name first, if there is room for all of it. What is replaced stays
// until the copy is whole, and as it was if anything fails. Where nothing was, a copy that lacks
// something appears nevertheless, unless it was stopped.
TreeOutcome copy_tree(UploadDirectory& directory, const std::string& from, const std::string& to,
                      const CopyOptions& options);

// Likewise, what is at `to` stays as it was if anything fails, and so does what is at `from`.
// `stop` ends only the look at how deep it is.
TreeOutcome move_tree(UploadDirectory& directory, const std::string& from, const std::string& to,
                      bool replace, const UploadOptions& options,
                      const file::StopFlag* stop = nullptr);

// Removes the folders that killed servers left under temporary names, but for what is not shown in
// them.
void remove_abandoned_trees(UploadDirectory& directory);

// Errors are statuses of responses, here and below.
Result<void, int> make_folder(UploadDirectory& directory, const std::string& path,
                              const UploadOptions& options);
// Makes an empty file where nothing is.
Result<void, int> make_file(UploadDirectory& directory, const std::string& path);

}  // namespace h2server::content
