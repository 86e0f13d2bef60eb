// Places in an upload directory, and how something takes the place of something else at once: what
// WebDAV's changes of trees have in common.
//
// Any thread; one object at a time. Everything here blocks on the disk. Errors are errno values,
// but for those in TreeFailures, which are statuses.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "content/storage/upload_file.h"
#include "content/webdav/webdav_files.h"
#include "content/webdav/webdav_tree.h"
#include "h2server/result.h"
#include "h2server/uploads.h"

namespace h2server::content {

// The folder of a path, opened with O_PATH, and the path's name in it.
struct Place {
  base::Fd folder;
  std::string name;
};
Result<Place, int> open_place(int root, const std::string& path);
// Opens a folder to be read. Follows no link.
base::Fd open_subfolder(int parent, const std::string& name);

std::string join_path(const std::string& folder, const std::string& name);
void add_failure(TreeFailures& failures, const std::string& path, bool is_folder, int status);
// RFC 4918, 9.3.1, 9.7.1, 9.8.5, 9.9.4: 409 if the folder of what is to be made is missing.
int status_without_folder(int error) noexcept;
// Writes the names in a folder to the disk itself, if the options say so.
void sync_names(int folder, const UploadOptions& options);

// Temporary names in the root of an upload directory, for what will get its place when it is whole
// and for what has lost it. What a killed server leaves there, remove_abandoned() and
// remove_abandoned_trees() remove.
class SparePlaces {
 public:
  // `root` must outlive this.
  explicit SparePlaces(int root) noexcept
      : names_(root, 0644, TemporaryNames::Lock::in_first_file) {}
  SparePlaces(const SparePlaces&) = delete;
  SparePlaces& operator=(const SparePlaces&) = delete;
  ~SparePlaces();

  // Creates a file and opens it for writing.
  Result<TemporaryNames::Created, int> create_file();
  // Returns a place where nothing is.
  Result<Place, int> next();

 private:
  Result<void, int> lock();

  TemporaryNames names_;
  TemporaryNames::Created lock_;  // the first name: it marks the others as in use
};

// What is in a tree.
struct TreeSum {
  std::uint64_t bytes = 0;  // of the files that are shown
  // The folders that can't be removed: something that is not shown is in them (409), they lie too
  // deep or they can't be changed (403).
  TreeFailures obstacles;
};
// Ends when `stop` is set, with the place itself as an obstacle (503).
TreeSum sum_tree(const Place& place, const std::string& path, const file::StopFlag* stop);
// Returns true if the folder has at most so many folders within each other, itself included. Ends
// as soon as it has more, or when `stop` is set, which is false then, too.
bool has_height_at_most(const Place& folder, unsigned height, const file::StopFlag* stop);

// As remove_tree(). `path` leads to the place in what is returned.
TreeFailures remove_place(UploadDirectory& directory, const Place& place, const std::string& path,
                          const file::StopFlag* stop = nullptr);

// Gives what is at `source` the place `target`, where nothing is, or a file that a file replaces if
// `replace`. Fails with EEXIST if something is there.
Result<void, int> put_in_place(const Place& source, const Place& target, bool is_folder,
                               bool replace);
// Exchanges the two, at once where the file system can, so that a killed server loses neither.
// `spare` is free. Where the file system can't, as exchange_in_steps().
Result<void, int> exchange_places(const Place& source, const Place& target, const Place& spare);
// What was at `target` is at `spare` meanwhile. If a step fails, the steps before it are undone.
Result<void, int> exchange_in_steps(const Place& source, const Place& target, const Place& spare);

}  // namespace h2server::content
