// An upload directory: open, rid of what killed servers left in it, with its account.
#pragma once

#include <memory>
#include <string>

#include "base/fd.h"
#include "content/upload_space.h"
#include "h2server/result.h"

namespace h2server::content {

class UploadDirectory {
 public:
  // The directory that the descriptor leads to, which is not kept. Waits for the disk. The error is
  // an errno value, here and below.
  static Result<std::shared_ptr<UploadDirectory>, int> open(int directory);
  // The one of that path; the same object as long as it is the same directory. Any thread; waits
  // for the disk, and for others that ask.
  static Result<std::shared_ptr<UploadDirectory>, int> find(const std::string& path);

  explicit UploadDirectory(base::Fd directory) : directory_(std::move(directory)) {}

  [[nodiscard]] int fd() const noexcept { return directory_.get(); }
  [[nodiscard]] UploadSpace& space() noexcept { return space_; }

 private:
  base::Fd directory_;
  UploadSpace space_{directory_.get()};
};

}  // namespace h2server::content
