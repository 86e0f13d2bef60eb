// UploadDirectory: an open upload directory, its account of space, the names that uploads in flight
// will take, its locks, and whose its unfinished uploads are. Opening it removes the files that
// killed servers left in it.
#pragma once

#include <memory>
#include <string>

#include "base/fd.h"
#include "content/storage/names_in_flight.h"
#include "content/storage/upload_space.h"
#include "content/uploads/area/lock_table.h"
#include "content/uploads/area/pending_limits.h"
#include "content/uploads/area/pending_places.h"
#include "h2server/result.h"

namespace h2server::content {

class UploadDirectory {
 public:
  // Opens the directory that `directory` refers to; the descriptor stays the caller's. May block on
  // the disk. The error is an errno value, here and below.
  static Result<std::shared_ptr<UploadDirectory>, int> open(int directory);
  // As open(), but returns the object of that directory that share() has made before, if somebody
  // still holds it: after a reload, that is the one with the locks and with what is under way.
  static Result<std::shared_ptr<UploadDirectory>, int> share(int directory);
  // Opens the directory at `path`. Returns the existing object if that directory is open already.
  // Any thread. May block on the disk and on concurrent callers.
  static Result<std::shared_ptr<UploadDirectory>, int> find(const std::string& path);

  explicit UploadDirectory(base::Fd directory);

  [[nodiscard]] int fd() const noexcept { return directory_.get(); }
  [[nodiscard]] UploadSpace& space() noexcept { return space_; }
  [[nodiscard]] NamesInFlight& names() noexcept { return names_; }
  [[nodiscard]] LockTable& locks() noexcept { return locks_; }
  [[nodiscard]] PendingPlaces& pending() noexcept { return pending_; }
  // Returns true if a lock of WebDAV keeps a request that names no lock from storing a file there
  // (RFC 4918, 7): a form, or a resumable upload. May block on the disk.
  [[nodiscard]] bool is_locked(const std::string& path) const;

 private:
  base::Fd directory_;
  UploadSpace space_{directory_.get()};
  NamesInFlight names_;
  LockTable locks_;
  PendingPlaces pending_{PendingLimits().uploads_max, PendingLimits().client_uploads_max};
};

}  // namespace h2server::content
