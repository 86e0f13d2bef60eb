// A file that is being received: under a temporary name, which is gone unless it was committed.
// Everything here may wait for the disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "h2server/result.h"

namespace h2server::content {

// The temporary names of one request: h2_tmp_<process>_<request>_<number>. Whoever has them holds a
// lock (flock) on the file with number 0, which the system releases when the process dies, however
// it dies; see remove_abandoned().
class TemporaryNames {
 public:
  struct Created {
    base::Fd file;
    std::string name;
  };

  // `directory` outlives this.
  explicit TemporaryNames(int directory) noexcept : directory_(directory) {}

  [[nodiscard]] int directory() const noexcept { return directory_; }
  // A new file, open for writing. The error is an errno value.
  Result<Created, int> create();
  // For what is no file of ours; may be taken.
  std::string next();

 private:
  Result<Created, int> create_first();

  int directory_;
  std::string request_;
  unsigned count_ = 0;
  base::Fd lock_;
};

// Removes the temporary files in `directory` that nobody holds a lock for: those of a server that
// was killed. The error is an errno value.
Result<void, int> remove_abandoned(int directory);

class UploadFile {
 public:
  // A new temporary file. `names` outlives it. The error is an errno value, here and below.
  static Result<UploadFile, int> open(TemporaryNames& names, std::string name);
  UploadFile(UploadFile&& other) noexcept;
  UploadFile& operator=(UploadFile&&) = delete;
  ~UploadFile();

  [[nodiscard]] Result<void, int> write(std::string_view bytes);
  // All of it has been written; some file systems find out only now that they can't keep it.
  [[nodiscard]] Result<void, int> close() noexcept;
  // Gives it its name. EEXIST when that is taken, unless `overwrite`. Of the files of a request the
  // first goes last, since it has the lock.
  [[nodiscard]] Result<void, int> commit(bool overwrite);
  // Undoes commit(): what was replaced gets its name back, if it could be kept.
  void revoke() noexcept;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  // Of the file that commit() replaced, if any. Bytes.
  [[nodiscard]] std::uint64_t replaced_size() const noexcept { return replaced_size_; }

 private:
  Result<std::string, int> keep_replaced();
  UploadFile(TemporaryNames& names, std::string name, TemporaryNames::Created created);

  TemporaryNames& names_;
  std::string name_;
  std::string
      temporary_name_;  // before commit() this file's, then that of what it replaced, if any
  base::Fd file_;
  std::uint64_t size_ = 0;
  std::uint64_t replaced_size_ = 0;
  bool final_ = false;  // commit() replaced a file that could not be kept
};

}  // namespace h2server::content
